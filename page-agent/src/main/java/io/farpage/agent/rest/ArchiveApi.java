package io.farpage.agent.rest;

import io.farpage.agent.control.archive.SnapshotArchives;
import io.farpage.agent.control.guest.GuestException;
import io.farpage.agent.control.page.PageException;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.client.CoordinatorRefusedException;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.coordinator.model.VmmState;
import io.farpage.rest.ProblemException;
import io.farpage.rest.Requests;
import io.farpage.rest.Route;
import io.javalin.http.Context;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/** The routes for snapshots in files, and for the states of VMMs. */
public final class ArchiveApi {
    private final SnapshotArchives archives;
    private final ImagePermits permits;

    public ArchiveApi(SnapshotArchives archives, ImagePermits permits) {
        this.archives = archives;
        this.permits = permits;
    }

    /** All of them. */
    public List<Route> routes() {
        return List.of(
                new Route(ArchiveOperations.SAVE, ctx -> permits.run(() -> save(ctx))),
                new Route(ArchiveOperations.LOAD, ctx -> permits.run(() -> load(ctx))),
                new Route(ArchiveOperations.KEEP_STATE, ctx -> permits.run(() -> keepState(ctx))));
    }

    private static String name(Context ctx) {
        return ctx.pathParam("space");
    }

    private void save(Context ctx) throws IOException, InterruptedException {
        try (SnapshotArchives.Saving saving = archives.save(name(ctx))) {
            ctx.contentType(ArchiveOperations.ZIP);
            saving.write(ctx.res().getOutputStream());
        } catch (PageException e) {
            // The archive has no end then, by which a client recognises it.
            throw new IOException(e.getMessage(), e);
        } catch (GuestException e) {
            throw GuestApi.problem(e);
        } catch (CoordinatorException e) {
            throw problem(e);
        }
    }

    private static ProblemException problem(CoordinatorException e) {
        return e instanceof CoordinatorRefusedException refused ? AgentApi.refused(refused) : GuestApi.away(e);
    }

    private static Optional<List<String>> list(Context ctx, String parameter) {
        return Requests.optionalQuery(ctx, parameter).map(text -> List.of(text.split(",")));
    }

    private void load(Context ctx) throws InterruptedException {
        OptionalInt replicas = Requests.optionalQuery(ctx, "replicas")
                .map(text -> OptionalInt.of((int) Requests.number("replicas", text, 1, SpaceRequest.MAX_REPLICAS)))
                .orElse(OptionalInt.empty());
        SnapshotArchives.Keeping keeping =
                new SnapshotArchives.Keeping(list(ctx, "homes"), replicas, list(ctx, "nodes"));
        write(() -> archives.load(name(ctx), keeping, Requests.stream(ctx)));
    }

    private void keepState(Context ctx) throws InterruptedException {
        long length = ctx.req().getContentLengthLong();
        if (length < 1 || length > VmmState.MAX_BYTES) {
            throw ProblemException.invalid("Content-Length: a state of %s bytes is not in 1..%d"
                    .formatted(length < 0 ? "unknown" : Long.toString(length), VmmState.MAX_BYTES));
        }
        write(() -> archives.keepState(name(ctx), length, Requests.stream(ctx)));
    }

    /** Makes a snapshot. */
    private interface Making {
        Object make() throws IOException, PageException, CoordinatorException, GuestException, InterruptedException;
    }

    private static void write(Making making) throws InterruptedException {
        try {
            var _ = making.make();
        } catch (PageException e) {
            throw new ProblemException(502, "home-unreachable", String.valueOf(e.getMessage()));
        } catch (IOException e) {
            throw ProblemException.invalid("the file: " + e.getMessage());
        } catch (GuestException e) {
            throw GuestApi.problem(e);
        } catch (CoordinatorException e) {
            throw problem(e);
        }
    }
}
