package io.farpage.coordinator.api;

import io.farpage.access.Identity;
import io.farpage.coordinator.access.NodeKeys;
import io.farpage.coordinator.cluster.Attaching;
import io.farpage.coordinator.cluster.Hosting;
import io.farpage.coordinator.cluster.Links;
import io.farpage.coordinator.cluster.Membership;
import io.farpage.coordinator.model.Endpoint;
import io.farpage.coordinator.model.EndpointRequest;
import io.farpage.coordinator.model.Heartbeat;
import io.farpage.coordinator.model.HostedAck;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Lease;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.operation.NodeOperations;
import io.farpage.rest.AccessControl;
import io.farpage.rest.ProblemException;
import io.farpage.rest.RequestAudit;
import io.farpage.rest.Requests;
import io.farpage.rest.Route;
import io.javalin.http.Context;
import java.io.IOException;
import java.util.List;

/** What is under {@code /nodes}. */
final class NodeRoutes {

    /** Longer than any of these is with all it may hold. */
    private static final int SHORT_BODY = 64 << 10;

    private static final int ENDPOINT_BODY = 256 << 10;

    private final Membership membership;
    private final Links links;
    private final Hosting hosting;
    private final Attaching attaching;
    private final NodeKeys keys;

    NodeRoutes(Membership membership, Links links, Hosting hosting, Attaching attaching, NodeKeys keys) {
        this.membership = membership;
        this.links = links;
        this.hosting = hosting;
        this.attaching = attaching;
        this.keys = keys;
    }

    List<Route> routes() {
        return List.of(
                Route.answering(NodeOperations.LIST, ctx -> Overviews.page(membership.nodes(), Overviews.filter(ctx))),
                Route.answering(NodeOperations.SHOW, this::show),
                Route.answering(NodeOperations.REGISTER, this::register),
                new Route(NodeOperations.REMOVE, this::takeOut),
                Route.answering(NodeOperations.HEARTBEAT, this::heartbeat),
                Route.answering(NodeOperations.ENDPOINTS, ctx -> links.endpoints(id(ctx))),
                Route.answering(NodeOperations.OFFERS, ctx -> links.offers(id(ctx))),
                Route.answering(NodeOperations.SHOW_ENDPOINT, ctx -> links.endpoint(id(ctx), peer(ctx))),
                Route.answering(NodeOperations.PUBLISH_ENDPOINT, this::publishEndpoint),
                new Route(
                        NodeOperations.WITHDRAW_ENDPOINT, ctx -> links.withdraw(id(ctx), peer(ctx), incarnation(ctx))),
                Route.answering(NodeOperations.HOSTED, ctx -> hosting.of(id(ctx))),
                new Route(NodeOperations.ACKNOWLEDGE_HOSTED, this::acknowledge),
                Route.answering(NodeOperations.ATTACHED, ctx -> attaching.of(id(ctx), since(ctx))));
    }

    private Node show(Context ctx) {
        return membership
                .node(id(ctx))
                .orElseThrow(() -> ProblemException.notFound("node '%s' is not registered".formatted(id(ctx))));
    }

    private void takeOut(Context ctx) {
        // An agent that ends takes its pool with it, whatever the answer.
        boolean own = AccessControl.identity(ctx) instanceof Identity.Node(String node) && node.equals(id(ctx));
        boolean force = Requests.flag(ctx, "force");
        RequestAudit.note(ctx, "force", force);
        long lost = membership.deregister(id(ctx), incarnation(ctx), force || own);
        RequestAudit.note(ctx, "lost", lost);
    }

    private Node register(Context ctx) throws IOException {
        String id = Requests.parameter("id", id(ctx), Node::checkId);
        Node node = membership.register(id, Requests.body(ctx, NodeOperations.REGISTER, SHORT_BODY));
        if (AccessControl.identity(ctx).equals(new Identity.Node(id))) {
            AccessControl.certificate(ctx).ifPresent(shown -> keys.learn(id, shown.getPublicKey()));
        }
        return node;
    }

    private Lease heartbeat(Context ctx) throws IOException {
        links.requireKnown(id(ctx));
        Heartbeat heartbeat = Requests.body(ctx, NodeOperations.HEARTBEAT, SHORT_BODY);
        return membership.heartbeat(id(ctx), heartbeat.incarnation());
    }

    private Endpoint publishEndpoint(Context ctx) throws IOException {
        links.requireKnown(id(ctx), peer(ctx));
        EndpointRequest said = Requests.body(ctx, NodeOperations.PUBLISH_ENDPOINT, ENDPOINT_BODY);
        return links.publish(id(ctx), peer(ctx), said);
    }

    private static long since(Context ctx) {
        return Requests.number("since", Requests.optionalQuery(ctx, "since").orElse("0"), 0, Long.MAX_VALUE);
    }

    private void acknowledge(Context ctx) throws IOException {
        links.requireKnown(id(ctx));
        HostedAck ack = Requests.body(ctx, NodeOperations.ACKNOWLEDGE_HOSTED);
        if (!ack.fenced().isEmpty()) {
            RequestAudit.act(ctx, "fence.confirm");
        }
        hosting.acknowledge(id(ctx), ack);
    }

    private static String id(Context ctx) {
        return ctx.pathParam("id");
    }

    private static String peer(Context ctx) {
        return ctx.pathParam("peer");
    }

    private static Incarnation incarnation(Context ctx) {
        return Requests.parameter("incarnation", Requests.query(ctx, "incarnation"), Incarnation::parse);
    }
}
