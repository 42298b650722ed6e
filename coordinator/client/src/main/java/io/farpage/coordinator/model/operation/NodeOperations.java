package io.farpage.coordinator.model.operation;

import static io.farpage.coordinator.model.operation.Rights.ADMIN;
import static io.farpage.coordinator.model.operation.Rights.OPERATOR;
import static io.farpage.coordinator.model.operation.Rights.READ;
import static io.farpage.coordinator.model.operation.Rights.SELF;
import static io.farpage.coordinator.model.operation.Rights.VIEWER;
import static io.farpage.rest.Operation.ROUTINE;
import static io.farpage.rest.Operation.delete;
import static io.farpage.rest.Operation.get;
import static io.farpage.rest.Operation.list;
import static io.farpage.rest.Operation.post;
import static io.farpage.rest.Operation.put;

import io.farpage.access.Access;
import io.farpage.coordinator.model.Attached;
import io.farpage.coordinator.model.CertificateRequest;
import io.farpage.coordinator.model.CopyReport;
import io.farpage.coordinator.model.Drain;
import io.farpage.coordinator.model.Endpoint;
import io.farpage.coordinator.model.EndpointRequest;
import io.farpage.coordinator.model.FiguresReport;
import io.farpage.coordinator.model.FiguresWanted;
import io.farpage.coordinator.model.Grant;
import io.farpage.coordinator.model.GrantRequest;
import io.farpage.coordinator.model.Heartbeat;
import io.farpage.coordinator.model.Hosted;
import io.farpage.coordinator.model.HostedAck;
import io.farpage.coordinator.model.IssuedCertificate;
import io.farpage.coordinator.model.Lease;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.PullReport;
import io.farpage.coordinator.model.Registration;
import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.rest.Operation;
import io.farpage.rest.Operation.QueryParameter;
import java.util.List;

/** Nodes, and what they say of themselves. Routine is what agents repeat all the time. */
public final class NodeOperations {

    private static final String NODES = Operation.API + "/nodes";
    private static final String NODE = NODES + "/{id}";
    private static final String ENDPOINT = NODE + "/endpoints/{peer}";
    private static final String GRANT = NODE + "/grants/{space}/{node}";
    private static final String DRAIN = NODE + "/drain";

    private static final QueryParameter INCARNATION =
            new QueryParameter("incarnation", true, "of the node, 16 hex digits; must be the one registered now");

    public static final Operation<Void, List<Node>> LIST = list(NODES, READ, Node.class)
            .summary("All nodes, or those that are asked for, in the order of their ids")
            .with(Filters.STATUS, Filters.PREFIX, Filters.AFTER, Filters.LIMIT);

    public static final Operation<Void, Node> SHOW = get(NODE, READ, Node.class).summary("A node");

    public static final Operation<Registration, Node> REGISTER = put(NODE, SELF, "node.register")
            .json(Registration.class, Node.class)
            .summary("Register a node or change its registration; a new incarnation ends all that the old one"
                    + " published");

    public static final Operation<Void, Void> REMOVE = delete(NODE, SELF.or(ADMIN), "node.remove")
            .summary("Take a node out with all it has published")
            .with(
                    INCARNATION,
                    new QueryParameter(
                            "force",
                            false,
                            "true: take it out even if it has the only copy of pages, which are lost; a"
                                    + " node's own request needs no force"));

    public static final Operation<Heartbeat, Lease> HEARTBEAT = post(NODE + "/heartbeat", SELF, ROUTINE)
            .json(Heartbeat.class, Lease.class)
            .summary("Renew a node's lease");

    public static final Operation<FiguresReport, FiguresWanted> FIGURES = post(NODE + "/figures", SELF, ROUTINE)
            .json(FiguresReport.class, FiguresWanted.class)
            .summary("Report how the guests of a node have faulted since its last report, and what it has done as a"
                    + " home of coherent spaces");

    public static final Operation<CopyReport, Void> COPIES = post(NODE + "/copies", SELF, ROUTINE)
            .taking(CopyReport.class)
            .summary("Report how far a node has copied pages to homes that join");

    public static final Operation<CertificateRequest, IssuedCertificate> RENEW_CERTIFICATE = post(
                    NODE + "/certificate", SELF, "certificate.renew")
            .json(CertificateRequest.class, IssuedCertificate.class)
            .summary("Get the certificate that follows a node's present one");

    public static final Operation<Void, List<Endpoint>> ENDPOINTS = list(
                    NODE + "/endpoints", SELF.or(ADMIN), Endpoint.class)
            .summary("What a node has published toward its peers");

    public static final Operation<Void, List<Endpoint>> OFFERS = list(NODE + "/offers", SELF.or(ADMIN), Endpoint.class)
            .summary("What other nodes have published toward a node");

    public static final Operation<Void, Endpoint> SHOW_ENDPOINT = get(
                    ENDPOINT, SELF.or(Access.nodeInPath("peer")).or(ADMIN), Endpoint.class)
            .summary("What a node has published toward one peer");

    public static final Operation<EndpointRequest, Endpoint> PUBLISH_ENDPOINT = put(ENDPOINT, SELF, ROUTINE)
            .json(EndpointRequest.class, Endpoint.class)
            .summary("Publish a node's endpoint toward a peer; it replaces an earlier one");

    public static final Operation<Void, Void> WITHDRAW_ENDPOINT = delete(ENDPOINT, SELF, ROUTINE)
            .summary("Withdraw a node's endpoint toward a peer, if there is one")
            .with(INCARNATION);

    public static final Operation<GrantRequest, Grant> PUBLISH_GRANT = put(GRANT, SELF, "grant.give")
            .json(GrantRequest.class, Grant.class)
            .summary("Publish what a home grants to a node that is attached to a space; it replaces an earlier"
                    + " grant");

    public static final Operation<GrantRequest, Grant> PUBLISH_GRANT_OF_PULL = put(
                    GRANT + "/pulls/{page}/{epoch}", SELF, "grant.give")
            .json(GrantRequest.class, Grant.class)
            .summary("Publish what a home grants to a node that pulls an extent in an epoch");

    public static final Operation<PullReport, SpaceExtents> PULLED = post(NODE + "/pulls", SELF, "space.pull")
            .json(PullReport.class, SpaceExtents.class)
            .summary("A node that joins an extent has copied its pages from the other homes, or cannot");

    public static final Operation<Void, Hosted> HOSTED =
            get(NODE + "/hosted", VIEWER.or(SELF), Hosted.class).summary("All that a node must do as a home");

    public static final Operation<HostedAck, Void> ACKNOWLEDGE_HOSTED = post(NODE + "/hosted/ack", SELF, ROUTINE)
            .taking(HostedAck.class)
            .summary("Say that a node has applied what it hosts as of a revision, which incarnations of others"
                    + " it has cut off, and what it has zeroed");

    /** The document has keys that are sealed for the node. The coordinator gives them to no other node. */
    public static final Operation<Void, Attached> ATTACHED = get(NODE + "/attached", SELF, Attached.class)
            .summary("All that a node needs for the spaces that it works with: their extents, and what homes"
                    + " have granted to it, sealed for it")
            .with(new QueryParameter(
                    "since", false, "the mark of an earlier answer: what has not changed is left out"));

    public static final Operation<Void, Drain> DRAINED =
            get(DRAIN, READ, Drain.class).summary("How far a node has been emptied, and what keeps the rest");

    public static final Operation<Void, Drain> BEGIN_DRAIN = post(DRAIN, SELF.or(OPERATOR), "node.drain")
            .answering(Drain.class)
            .summary("Empty a node: nothing more is placed on it, and what it holds moves to other nodes");

    public static final Operation<Void, Void> CANCEL_DRAIN = delete(DRAIN, OPERATOR, "node.drain-cancel")
            .summary("Stop emptying a node; what has moved stays where it is");

    private NodeOperations() {}
}
