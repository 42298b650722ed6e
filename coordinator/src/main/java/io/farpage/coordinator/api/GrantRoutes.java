package io.farpage.coordinator.api;

import io.farpage.coordinator.cluster.Grants;
import io.farpage.coordinator.model.ExtentEpoch;
import io.farpage.coordinator.model.GrantRequest;
import io.farpage.coordinator.model.operation.NodeOperations;
import io.farpage.rest.Requests;
import io.farpage.rest.Route;
import io.javalin.http.Context;
import java.util.List;

/** What homes grant to the nodes that are attached to their spaces, or that pull extents of them. */
final class GrantRoutes {
    /** The longest sealed part, and the rest. */
    private static final int BODY = GrantRequest.MAX_SEALED + (4 << 10);

    private final Grants grants;

    GrantRoutes(Grants grants) {
        this.grants = grants;
    }

    List<Route> routes() {
        return List.of(
                Route.answering(
                        NodeOperations.PUBLISH_GRANT,
                        ctx -> grants.publish(
                                home(ctx),
                                space(ctx),
                                node(ctx),
                                Requests.body(ctx, NodeOperations.PUBLISH_GRANT, BODY))),
                Route.answering(
                        NodeOperations.PUBLISH_GRANT_OF_PULL,
                        ctx -> grants.publish(
                                home(ctx),
                                space(ctx),
                                node(ctx),
                                pull(ctx),
                                Requests.body(ctx, NodeOperations.PUBLISH_GRANT_OF_PULL, BODY))));
    }

    private static String home(Context ctx) {
        return ctx.pathParam("id");
    }

    private static long space(Context ctx) {
        return Requests.number("space", ctx.pathParam("space"), 1, Long.MAX_VALUE);
    }

    private static ExtentEpoch pull(Context ctx) {
        return new ExtentEpoch(
                Requests.number("page", ctx.pathParam("page"), 0, Long.MAX_VALUE),
                Requests.number("epoch", ctx.pathParam("epoch"), 0, Long.MAX_VALUE));
    }

    private static String node(Context ctx) {
        return ctx.pathParam("node");
    }
}
