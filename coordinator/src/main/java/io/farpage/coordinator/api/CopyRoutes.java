package io.farpage.coordinator.api;

import io.farpage.coordinator.cluster.Copies;
import io.farpage.coordinator.cluster.Links;
import io.farpage.coordinator.cluster.Membership;
import io.farpage.coordinator.cluster.SpaceRepairs;
import io.farpage.coordinator.model.CopyReport;
import io.farpage.coordinator.model.operation.NodeOperations;
import io.farpage.coordinator.model.operation.SpaceOperations;
import io.farpage.rest.Requests;
import io.farpage.rest.Route;
import io.javalin.http.Context;
import java.io.IOException;
import java.util.List;

/** Progress of copying pages: takes the reports of agents, and answers for a space. */
final class CopyRoutes {
    private final Membership membership;
    private final Links links;
    private final Copies copies;
    private final SpaceRepairs repairs;

    CopyRoutes(Membership membership, Links links, Copies copies, SpaceRepairs repairs) {
        this.membership = membership;
        this.links = links;
        this.copies = copies;
        this.repairs = repairs;
    }

    List<Route> routes() {
        return List.of(
                new Route(NodeOperations.COPIES, this::report),
                Route.answering(SpaceOperations.REPAIR, ctx -> repairs.of(ctx.pathParam("id"))));
    }

    private void report(Context ctx) throws IOException {
        String node = ctx.pathParam("id");
        links.requireKnown(node);
        CopyReport report = Requests.body(ctx, NodeOperations.COPIES);
        membership.require(node, report.incarnation());
        copies.report(node, report);
    }
}
