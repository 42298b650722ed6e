package io.farpage.coordinator.server;

import io.farpage.config.Config;
import io.farpage.config.HostPort;
import io.farpage.coordinator.lead.Candidacy;
import io.farpage.coordinator.lead.Leader;
import io.farpage.coordinator.lead.Term;
import io.farpage.rest.Health;
import io.farpage.rest.Liveness;
import io.farpage.rest.Metrics;
import io.farpage.rest.Operation;
import io.farpage.rest.ProblemException;
import io.farpage.rest.RestServer;
import io.javalin.http.Context;
import io.javalin.http.HandlerType;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What a coordinator that does not lead serves: its health, and refusals that name the leader. It forwards nothing,
 * since a forwarded request would come with the follower's certificate; clients call the leader themselves.
 */
final class Following implements AutoCloseable {

    private static final String LEADER = "Farpage-Leader";
    private static final String NONE = "none";

    private final RestServer server;
    private final Doors doors;

    private Following(RestServer server, Doors doors) {
        this.server = server;
        this.doors = doors;
    }

    static Following start(Config config, Doors doors, Candidacy candidacy) {
        RestServer.Options options = doors.options(config);
        Metrics metrics = new Metrics("farpage_coordinator");
        new CoordinatorMetrics(metrics.registry()).watchLead(() -> false);
        RestServer server = RestServer.start(
                options,
                List.of(Liveness.route(Optional::empty)),
                metrics,
                () -> health(options, candidacy),
                new RestServer.Around(ctx -> refuse(ctx, candidacy.leader()), ctx -> {}));
        return new Following(server, doors);
    }

    private static Health health(RestServer.Options options, Candidacy candidacy) {
        Optional<Leader> leader = candidacy.leader();
        return new Health(
                true,
                options.service(),
                options.version(),
                Map.of(
                        "role",
                        "follower",
                        "leader",
                        name(leader),
                        "term",
                        leader.map(known -> Long.toString(known.term())).orElse(NONE)),
                List.of());
    }

    private static String name(Optional<Leader> leader) {
        return leader.map(known -> known.url().toString()).orElse(NONE);
    }

    /** Refuses what only the leader of this moment may answer. */
    static RestServer.Around during(Term term) {
        return new RestServer.Around(
                ctx -> {
                    if (!term.holds()) {
                        refuse(ctx, Optional.empty());
                    }
                },
                ctx -> {
                    // What was read before is the leader's only if the term holds now. Changes are checked by the
                    // store.
                    if (ctx.method().equals(HandlerType.GET) && !term.holds()) {
                        refuse(ctx, Optional.empty());
                    }
                });
    }

    static RestServer.Around both(RestServer.Around first, RestServer.Around second) {
        return new RestServer.Around(
                ctx -> {
                    first.before().handle(ctx);
                    second.before().handle(ctx);
                },
                ctx -> {
                    second.after().handle(ctx);
                    first.after().handle(ctx);
                });
    }

    private static void refuse(Context ctx, Optional<Leader> leader) {
        if (ctx.path().startsWith(Operation.API + "/")) {
            String named = name(leader);
            ctx.header(LEADER, named);
            throw new ProblemException(
                    503, "not-leader", "this coordinator does not lead; the leader is " + named + ": call that one");
        }
    }

    HostPort listening() {
        return server.listening();
    }

    String url() {
        return server.url();
    }

    @Override
    public void close() {
        // The next leader is waited for: what clients ask a follower they ask again.
        server.cut();
        doors.close();
    }
}
