package io.farpage.coordinator.api;

import io.farpage.coordinator.cluster.Allocations;
import io.farpage.coordinator.cluster.Drains;
import io.farpage.coordinator.cluster.Hosting;
import io.farpage.coordinator.cluster.Repairs;
import io.farpage.coordinator.cluster.Spaces;
import io.farpage.coordinator.model.PullReport;
import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.coordinator.model.WriterRequest;
import io.farpage.coordinator.model.operation.NodeOperations;
import io.farpage.coordinator.model.operation.SpaceOperations;
import io.farpage.rest.RequestAudit;
import io.farpage.rest.Requests;
import io.farpage.rest.Route;
import io.javalin.http.Context;
import java.io.IOException;
import java.util.List;
import java.util.Set;

/** What changes the homes of extents: room of thin spaces, homes that have joined, and nodes that are drained. */
final class RepairRoutes {

    private final Allocations allocations;
    private final Repairs repairs;
    private final Drains drains;
    private final Spaces spaces;
    private final Hosting hosting;

    RepairRoutes(Allocations allocations, Repairs repairs, Drains drains, Spaces spaces, Hosting hosting) {
        this.allocations = allocations;
        this.repairs = repairs;
        this.drains = drains;
        this.spaces = spaces;
        this.hosting = hosting;
    }

    List<Route> routes() {
        return List.of(
                Route.answering(SpaceOperations.ALLOCATE, this::allocate),
                Route.answering(SpaceOperations.DEALLOCATE, this::deallocate),
                Route.answering(SpaceOperations.PROMOTE, this::promote),
                Route.answering(SpaceOperations.ALLOW_PULLS, this::allowPulls),
                Route.answering(NodeOperations.PULLED, this::pulled),
                Route.answering(NodeOperations.DRAINED, ctx -> drains.of(ctx.pathParam("id"))),
                Route.answering(NodeOperations.BEGIN_DRAIN, ctx -> drains.begin(ctx.pathParam("id"))),
                new Route(NodeOperations.CANCEL_DRAIN, ctx -> drains.cancel(ctx.pathParam("id"))));
    }

    /**
     * When this has answered, the homes that are alive keep which extents have room, so that a rebuild takes no page
     * that was written for zeros.
     */
    private SpaceExtents allocate(Context ctx) throws IOException, InterruptedException {
        String space = ctx.pathParam("id");
        WriterRequest request = Requests.body(ctx, SpaceOperations.ALLOCATE);
        RequestAudit.note(ctx, "extents", request.extents().size());
        allocations.allocate(space, ctx.pathParam("node"), request);
        hosting.awaitAcknowledged(hosting.homesBeside(space, ""));
        return spaces.extents(space);
    }

    private SpaceExtents deallocate(Context ctx) throws IOException {
        String space = ctx.pathParam("id");
        WriterRequest request = Requests.body(ctx, SpaceOperations.DEALLOCATE);
        RequestAudit.note(ctx, "extents", request.extents().size());
        allocations.deallocate(space, ctx.pathParam("node"), request);
        return spaces.extents(space);
    }

    /**
     * When this has answered, the homes that are alive keep the promotion, so that a rebuild takes no replaced home for
     * a source of pages.
     */
    private SpaceExtents promote(Context ctx) throws IOException, InterruptedException {
        String space = ctx.pathParam("id");
        String node = ctx.pathParam("node");
        WriterRequest request = Requests.body(ctx, SpaceOperations.PROMOTE);
        RequestAudit.note(ctx, "extents", request.extents().size());
        Set<String> homes = hosting.homesBeside(space, "");
        repairs.promote(space, node, request);
        hosting.awaitAcknowledged(homes);
        return spaces.extents(space);
    }

    private SpaceExtents allowPulls(Context ctx) throws IOException {
        String space = ctx.pathParam("id");
        WriterRequest request = Requests.body(ctx, SpaceOperations.ALLOW_PULLS);
        RequestAudit.note(ctx, "extents", request.extents().size());
        repairs.allowPulls(space, ctx.pathParam("node"), request);
        return spaces.extents(space);
    }

    /** As {@link #promote}; only then are the frames of the homes that were replaced given back. */
    private SpaceExtents pulled(Context ctx) throws IOException, InterruptedException {
        PullReport report = Requests.body(ctx, NodeOperations.PULLED);
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
        return spaces.extents(space);
    }
}
