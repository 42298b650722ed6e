package io.farpage.coordinator.api;

import io.farpage.access.Identity;
import io.farpage.coordinator.access.NodeKeys;
import io.farpage.coordinator.cluster.Attaching;
import io.farpage.coordinator.cluster.Hosting;
import io.farpage.coordinator.cluster.Links;
import io.farpage.coordinator.cluster.Membership;
import io.farpage.coordinator.model.Attached;
import io.farpage.coordinator.model.Endpoint;
import io.farpage.coordinator.model.EndpointRequest;
import io.farpage.coordinator.model.Heartbeat;
import io.farpage.coordinator.model.Hosted;
import io.farpage.coordinator.model.HostedAck;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Lease;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.Region;
import io.farpage.coordinator.model.RegionRequest;
import io.farpage.coordinator.model.Registration;
import io.farpage.rest.AccessControl;
import io.farpage.rest.ProblemException;
import io.farpage.rest.RequestAudit;
import io.farpage.rest.Requests;
import io.farpage.rest.Route;
import io.farpage.rest.Route.QueryParameter;
import io.javalin.http.Context;
import java.io.IOException;
import java.util.List;
import java.util.stream.Stream;

/** What is under {@code /nodes}. */
final class NodeRoutes {

    private static final String NODE = Api.PREFIX + "/nodes/{id}";
    private static final String ENDPOINT = NODE + "/endpoints/{peer}";
    private static final String REGION = NODE + "/regions/{name}";
    private static final QueryParameter INCARNATION =
            new QueryParameter("incarnation", true, "of the node, 16 hex digits; must be the one registered now");

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
        return Stream.of(nodes(), endpoints(), regions(), hosted())
                .flatMap(List::stream)
                .toList();
    }

    private List<Route> nodes() {
        return List.of(
                Route.get(
                                Api.PREFIX + "/nodes",
                                "All nodes, or those that are asked for, in the order of their ids",
                                Node[].class,
                                ctx -> ctx.json(Overviews.page(membership.nodes(), Overviews.filter(ctx))))
                        .with(Overviews.STATUS)
                        .with(Overviews.PREFIX)
                        .with(Overviews.AFTER)
                        .with(Overviews.LIMIT),
                Route.get(
                        NODE,
                        "A node",
                        Node.class,
                        ctx -> ctx.json(membership
                                .node(id(ctx))
                                .orElseThrow(() ->
                                        ProblemException.notFound("node '%s' is not registered".formatted(id(ctx)))))),
                Route.put(
                        NODE,
                        "Register a node or change its registration; a new incarnation ends all that the old one"
                                + " published",
                        Registration.class,
                        Node.class,
                        this::register),
                Route.delete(NODE, "Take a node out with all it has published", this::takeOut)
                        .with(INCARNATION)
                        .with(new QueryParameter(
                                "force",
                                false,
                                "true: take it out even if it has the only copy of pages, which are lost; a"
                                        + " node's own request needs no force")),
                Route.post(NODE + "/heartbeat", "Renew a node's lease", Heartbeat.class, Lease.class, 200, ctx -> {
                    links.requireKnown(id(ctx));
                    Heartbeat heartbeat = Requests.body(ctx, Heartbeat.class, SHORT_BODY);
                    ctx.json(membership.heartbeat(id(ctx), heartbeat.incarnation()));
                }));
    }

    private void takeOut(Context ctx) {
        // An agent that ends takes its pool with it, whatever the answer.
        boolean own = AccessControl.identity(ctx) instanceof Identity.Node(String node) && node.equals(id(ctx));
        boolean force = Requests.flag(ctx, "force");
        RequestAudit.note(ctx, "force", force);
        long lost = membership.deregister(id(ctx), incarnation(ctx), force || own);
        RequestAudit.note(ctx, "lost", lost);
    }

    private void register(Context ctx) throws IOException {
        String id = Requests.parameter("id", id(ctx), Node::checkId);
        Node node = membership.register(id, Requests.body(ctx, Registration.class, SHORT_BODY));
        if (AccessControl.identity(ctx).equals(new Identity.Node(id))) {
            AccessControl.certificate(ctx).ifPresent(shown -> keys.learn(id, shown.getPublicKey()));
        }
        ctx.json(node);
    }

    private List<Route> endpoints() {
        return List.of(
                Route.get(
                        NODE + "/endpoints",
                        "What a node has published toward its peers",
                        Endpoint[].class,
                        ctx -> ctx.json(links.endpoints(id(ctx)))),
                Route.get(
                        NODE + "/offers",
                        "What other nodes have published toward a node",
                        Endpoint[].class,
                        ctx -> ctx.json(links.offers(id(ctx)))),
                Route.get(
                        ENDPOINT,
                        "What a node has published toward one peer",
                        Endpoint.class,
                        ctx -> ctx.json(links.endpoint(id(ctx), ctx.pathParam("peer")))),
                Route.put(
                        ENDPOINT,
                        "Publish a node's endpoint toward a peer, in the place of any earlier one",
                        EndpointRequest.class,
                        Endpoint.class,
                        ctx -> {
                            links.requireKnown(id(ctx), ctx.pathParam("peer"));
                            EndpointRequest said = Requests.body(ctx, EndpointRequest.class, ENDPOINT_BODY);
                            ctx.json(links.publish(id(ctx), ctx.pathParam("peer"), said));
                        }),
                Route.delete(
                                ENDPOINT,
                                "Withdraw a node's endpoint toward a peer, if there is one",
                                ctx -> links.withdraw(id(ctx), ctx.pathParam("peer"), incarnation(ctx)))
                        .with(INCARNATION));
    }

    private List<Route> regions() {
        return List.of(
                Route.get(
                        NODE + "/regions",
                        "The regions of a node",
                        Region[].class,
                        ctx -> ctx.json(links.regions(id(ctx)))),
                Route.get(
                        REGION,
                        "A region of a node",
                        Region.class,
                        ctx -> ctx.json(links.region(id(ctx), ctx.pathParam("name")))),
                Route.put(
                        REGION,
                        "Publish a region, in the place of any earlier one of that name",
                        RegionRequest.class,
                        Region.class,
                        ctx -> {
                            links.requireKnown(id(ctx));
                            String name = Requests.parameter("name", ctx.pathParam("name"), Region::checkName);
                            ctx.json(links.publish(id(ctx), name, Requests.body(ctx, RegionRequest.class, SHORT_BODY)));
                        }));
    }

    private List<Route> hosted() {
        return List.of(
                Route.get(
                        NODE + "/hosted",
                        "All that a node must do as a home",
                        Hosted.class,
                        ctx -> ctx.json(hosting.of(id(ctx)))),
                Route.post(
                        NODE + "/hosted/ack",
                        "Say that a node has applied what it hosts as of a revision, which incarnations of others it has"
                                + " cut off, and what it has zeroed",
                        HostedAck.class,
                        this::acknowledge),
                Route.get(
                                NODE + "/attached",
                                "All that a node needs for the spaces that it works with: their extents, and what homes"
                                        + " have granted to it, sealed for it",
                                Attached.class,
                                ctx -> ctx.json(attaching.of(id(ctx), since(ctx))))
                        .with(new QueryParameter(
                                "since", false, "the mark of an earlier answer: what has not changed is left out")));
    }

    private static long since(Context ctx) {
        return Requests.number("since", Requests.optionalQuery(ctx, "since").orElse("0"), 0, Long.MAX_VALUE);
    }

    private void acknowledge(Context ctx) throws IOException {
        links.requireKnown(id(ctx));
        HostedAck ack = Requests.body(ctx, HostedAck.class);
        if (!ack.fenced().isEmpty()) {
            RequestAudit.act(ctx, "fence.confirm");
        }
        hosting.acknowledge(id(ctx), ack);
    }

    private static String id(Context ctx) {
        return ctx.pathParam("id");
    }

    private static Incarnation incarnation(Context ctx) {
        return Requests.parameter("incarnation", Requests.query(ctx, "incarnation"), Incarnation::parse);
    }
}
