package io.farpage.coordinator.api;

import io.farpage.coordinator.cluster.Drains;
import io.farpage.coordinator.cluster.Hosting;
import io.farpage.coordinator.cluster.Repairs;
import io.farpage.coordinator.cluster.Spaces;
import io.farpage.coordinator.model.Drain;
import io.farpage.coordinator.model.PullReport;
import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.coordinator.model.WriterRequest;
import io.farpage.rest.RequestAudit;
import io.farpage.rest.Requests;
import io.farpage.rest.Route;
import io.javalin.http.Context;
import io.javalin.http.HandlerType;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** What moves pages from home to home: promotions of homes that have joined, and nodes that are drained. */
final class RepairRoutes {

    private static final String DRAIN = Api.PREFIX + "/nodes/{id}/drain";

    private final Repairs repairs;
    private final Drains drains;
    private final Spaces spaces;
    private final Hosting hosting;

    RepairRoutes(Repairs repairs, Drains drains, Spaces spaces, Hosting hosting) {
        this.repairs = repairs;
        this.drains = drains;
        this.spaces = spaces;
        this.hosting = hosting;
    }

    List<Route> routes() {
        return List.of(
                Route.post(
                        Api.PREFIX + "/spaces/{id}/attachments/{node}/promotions",
                        "The node that writes a space has copied all pages of extents to the home that joins each",
                        WriterRequest.class,
                        SpaceExtents.class,
                        200,
                        this::promote),
                Route.post(
                        Api.PREFIX + "/spaces/{id}/attachments/{node}/pulls",
                        "The node that writes a space notes what it writes to extents, and the home that joins each may copy the pages",
                        WriterRequest.class,
                        SpaceExtents.class,
                        200,
                        this::allowPulls),
                Route.post(
                        Api.PREFIX + "/nodes/{id}/pulls",
                        "A node that joins an extent has copied its pages from the other homes, or cannot",
                        PullReport.class,
                        SpaceExtents.class,
                        200,
                        this::pulled),
                Route.get(
                        DRAIN,
                        "How far a node has been emptied, and what keeps the rest",
                        Drain.class,
                        ctx -> ctx.json(drains.of(ctx.pathParam("id")))),
                new Route(
                        HandlerType.POST,
                        DRAIN,
                        "Empty a node: nothing more is placed on it, and what it holds moves to other nodes",
                        200,
                        Optional.empty(),
                        Optional.of(Drain.class),
                        "application/json",
                        List.of(),
                        ctx -> ctx.json(drains.begin(ctx.pathParam("id")))),
                Route.delete(
                        DRAIN,
                        "Stop emptying a node; what has moved stays where it is",
                        ctx -> drains.cancel(ctx.pathParam("id"))));
    }

    /**
     * When this has answered, the homes that are alive keep the promotion, so that a rebuild takes no replaced home for
     * a source of pages.
     */
    private void promote(Context ctx) throws IOException, InterruptedException {
        String space = ctx.pathParam("id");
        String node = ctx.pathParam("node");
        WriterRequest request = Requests.body(ctx, WriterRequest.class);
        RequestAudit.note(ctx, "extents", request.extents().size());
        Set<String> homes = hosting.homesBeside(space, "");
        repairs.promote(space, node, request);
        hosting.awaitAcknowledged(homes);
        ctx.json(spaces.extents(space));
    }

    private void allowPulls(Context ctx) throws IOException {
        String space = ctx.pathParam("id");
        WriterRequest request = Requests.body(ctx, WriterRequest.class);
        RequestAudit.note(ctx, "extents", request.extents().size());
        repairs.allowPulls(space, ctx.pathParam("node"), request);
        ctx.json(spaces.extents(space));
    }

    /** As {@link #promote}; only then are the frames of the homes that were replaced given back. */
    private void pulled(Context ctx) throws IOException, InterruptedException {
        PullReport report = Requests.body(ctx, PullReport.class);
        String space = Long.toString(report.space());
        Set<String> homes = hosting.homesBeside(space, "");
        RequestAudit.note(ctx, "space", report.space());
        RequestAudit.note(ctx, "outcome", report.failure().orElse("copied"));
        try {
            if (repairs.pulled(ctx.pathParam("id"), report)) {
                hosting.awaitAcknowledged(homes);
            }
        } finally {
            repairs.settled(report.space());
        }
        ctx.json(spaces.extents(space));
    }
}
