package io.farpage.coordinator.rebuild;

import io.farpage.config.HostPort;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.RebuildStatus;
import io.farpage.coordinator.model.operation.RebuildOperations;
import io.farpage.coordinator.store.Store;
import io.farpage.rest.Health;
import io.farpage.rest.Liveness;
import io.farpage.rest.Metrics;
import io.farpage.rest.ProblemException;
import io.farpage.rest.Requests;
import io.farpage.rest.RestServer;
import io.farpage.rest.Route;
import io.javalin.http.Context;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * The REST interface of a coordinator that is being rebuilt: it takes reports, and refuses everything else as
 * {@code rebuilding}.
 */
public final class RebuildServer implements AutoCloseable {

    /**
     * The longest report, unless the heap is small: all the spaces and extents that a coordinator may have are less
     * than half of that.
     */
    static final int MAX_REPORT = 64 << 20;

    private static final int HEAP_SHARE = 4;

    private final Rebuild rebuild;
    private final RestServer server;
    private final CountDownLatch finished = new CountDownLatch(1);

    /**
     * Starts to take reports.
     *
     * @param store empty, or an older copy of the cluster's
     * @param expected nodes without which the rebuild does not finish; empty: a person finishes it
     * @throws io.farpage.rest.ListenException if it cannot listen where it should
     */
    public RebuildServer(RestServer.Options options, Store store, Set<String> expected) {
        rebuild = new Rebuild(store, expected);
        server = RestServer.start(
                withLongReports(options),
                routes(rebuild),
                new Metrics("farpage_coordinator"),
                () -> health(options, rebuild),
                new RestServer.Around(RebuildServer::refuseOthers, ctx -> noteEnd()));
    }

    /** One report at a time is taken, up to a quarter of the heap; an agent that is turned away asks again. */
    private static RestServer.Options withLongReports(RestServer.Options options) {
        long most = Math.min(MAX_REPORT, Runtime.getRuntime().maxMemory() / HEAP_SHARE);
        return new RestServer.Options(
                options.service(),
                options.version(),
                options.entrance(),
                (int) Math.max(options.maxBodyBytes(), most),
                options.mayAccept());
    }

    private static List<Route> routes(Rebuild rebuild) {
        return List.of(
                Liveness.route(Optional::empty),
                Route.answering(RebuildOperations.STATUS, ctx -> rebuild.status()),
                Route.answering(
                        RebuildOperations.REPORT,
                        ctx -> rebuild.report(
                                Requests.parameter("id", ctx.pathParam("id"), Node::checkId),
                                Requests.body(ctx, RebuildOperations.REPORT))),
                Route.answering(
                        RebuildOperations.FINISH,
                        ctx -> rebuild.finish(Set.copyOf(
                                Requests.body(ctx, RebuildOperations.FINISH).without()))));
    }

    private static void refuseOthers(Context ctx) {
        if (ctx.path().startsWith("/api/") && !ctx.path().startsWith(RebuildOperations.PATH)) {
            throw new ProblemException(
                    503,
                    "rebuilding",
                    "this coordinator is being rebuilt from what agents know and serves nothing yet; 'coordinator"
                            + " rebuild status' tells how far it is");
        }
    }

    private void noteEnd() {
        if (rebuild.isFinished()) {
            finished.countDown();
        }
    }

    private static Health health(RestServer.Options options, Rebuild rebuild) {
        RebuildStatus status = rebuild.status();
        return new Health(
                false,
                options.service(),
                options.version(),
                Map.of(
                        "rebuilding", "true",
                        "reported", String.join(", ", status.reported()),
                        "missing", String.join(", ", status.missing()),
                        "conflicts", String.join("; ", status.conflicts())),
                List.of());
    }

    /** Its URL, for a client on this machine. */
    public String url() {
        return server.url();
    }

    /** Where it listens, with the port that the system chose. */
    public HostPort listening() {
        return server.listening();
    }

    /** What is registered, as {@code METHOD path}. */
    List<String> registered() {
        return server.registered();
    }

    /**
     * Waits until the rebuild has been finished.
     *
     * @throws InterruptedException if interrupted while waiting
     */
    public void awaitFinished() throws InterruptedException {
        finished.await();
    }

    /**
     * Waits for a while until the rebuild has been finished, and says whether it has.
     *
     * @throws InterruptedException if interrupted while waiting
     */
    public boolean awaitFinished(Duration limit) throws InterruptedException {
        return finished.await(limit.toNanos(), TimeUnit.NANOSECONDS);
    }

    @Override
    public void close() {
        server.close();
    }
}
