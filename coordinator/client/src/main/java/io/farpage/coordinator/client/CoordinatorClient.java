package io.farpage.coordinator.client;

import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Attached;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.CertificateRequest;
import io.farpage.coordinator.model.CloneRequest;
import io.farpage.coordinator.model.Cluster;
import io.farpage.coordinator.model.ClusterRequest;
import io.farpage.coordinator.model.CopyReport;
import io.farpage.coordinator.model.Detachment;
import io.farpage.coordinator.model.Drain;
import io.farpage.coordinator.model.DropRequest;
import io.farpage.coordinator.model.Endpoint;
import io.farpage.coordinator.model.EndpointRequest;
import io.farpage.coordinator.model.EventBatch;
import io.farpage.coordinator.model.ExtentEpoch;
import io.farpage.coordinator.model.FiguresReport;
import io.farpage.coordinator.model.FiguresWanted;
import io.farpage.coordinator.model.GrantRequest;
import io.farpage.coordinator.model.Heartbeat;
import io.farpage.coordinator.model.HeatReport;
import io.farpage.coordinator.model.Hosted;
import io.farpage.coordinator.model.HostedAck;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.IssuedCertificate;
import io.farpage.coordinator.model.Lease;
import io.farpage.coordinator.model.NewAttachment;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.NodeFilter;
import io.farpage.coordinator.model.NodeReport;
import io.farpage.coordinator.model.Overview;
import io.farpage.coordinator.model.PullReport;
import io.farpage.coordinator.model.RebuildFinish;
import io.farpage.coordinator.model.RebuildStatus;
import io.farpage.coordinator.model.Registration;
import io.farpage.coordinator.model.Repair;
import io.farpage.coordinator.model.SnapshotRequest;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.coordinator.model.SpaceNodes;
import io.farpage.coordinator.model.SpaceReplicas;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.coordinator.model.SpaceUse;
import io.farpage.coordinator.model.StoreCopy;
import io.farpage.coordinator.model.WriterRequest;
import io.farpage.coordinator.model.operation.ClusterOperations;
import io.farpage.coordinator.model.operation.NodeOperations;
import io.farpage.coordinator.model.operation.RebuildOperations;
import io.farpage.coordinator.model.operation.SpaceOperations;
import io.farpage.coordinator.model.operation.ViewOperations;
import io.farpage.rest.Operation.Target;
import io.farpage.tls.Credentials;
import java.net.URI;
import java.net.http.HttpClient;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;

/**
 * Calls the coordinator. Every call blocks until the answer is there or the deadline has passed, and throws
 * {@link CoordinatorUnreachableException}, {@link CoordinatorRefusedException} or
 * {@link CoordinatorNotObeyedException}. What programs of farpage call has a method here; any other operation is called
 * with {@link #call}, {@link #find} or {@link #tell}. Thread-safe; made for virtual threads. Nothing is retried and
 * nothing kept between calls, so a coordinator that comes back is simply reached again. Closing ends the calls under
 * way.
 */
public final class CoordinatorClient implements AutoCloseable {

    private final Addresses addresses;
    private final Allegiance allegiance;
    private final Transport transport;

    /**
     * Makes a client; nothing is connected yet.
     *
     * @param base such as {@code http://127.0.0.1:7400}; what follows host and port is ignored
     * @param deadline of each call, from connecting to the last byte of the answer; a long poll adds its wait
     * @throws IllegalArgumentException if the base is not an http URL with a host or the deadline is not positive
     */
    public CoordinatorClient(URI base, Duration deadline) {
        this(base, deadline, new Allegiance(), Credentials.NONE);
    }

    /**
     * Makes a client that shows a certificate or a token.
     *
     * @param credentials asked for each request; changed certificates are used for the next one
     * @throws IllegalArgumentException as the other constructors do
     */
    public CoordinatorClient(URI base, Duration deadline, Allegiance allegiance, Credentials credentials) {
        this(List.of(base), deadline, allegiance, credentials);
    }

    /**
     * Makes a client of several coordinators; one of them leads. The client leaves an unreachable coordinator for the
     * next one, and a follower for the leader that it names.
     *
     * @param bases at least one
     * @throws IllegalArgumentException as the other constructors do
     */
    public CoordinatorClient(List<URI> bases, Duration deadline, Allegiance allegiance, Credentials credentials) {
        this.addresses = new Addresses(bases);
        if (deadline.isNegative() || deadline.isZero()) {
            throw new IllegalArgumentException("deadline " + deadline + " is not positive");
        }
        this.allegiance = allegiance;
        Connections connections = new Connections(credentials, deadline, addresses.arePlain());
        this.transport = new Transport(addresses, deadline, connections, allegiance, credentials);
    }

    /**
     * Makes a client that shares its connections with others, so that a process can have thousands of clients. It shows
     * no certificate and no token. Closing it leaves the connections open and does not end calls under way.
     *
     * @param shared must not follow redirects
     * @throws IllegalArgumentException as the other constructors do
     */
    public CoordinatorClient(URI base, Duration deadline, HttpClient shared) {
        this.addresses = new Addresses(List.of(base));
        this.allegiance = new Allegiance();
        this.transport = new Transport(addresses, deadline, new Connections(shared), allegiance, Credentials.NONE);
    }

    /** Which coordinator this client obeys. */
    public Allegiance allegiance() {
        return allegiance;
    }

    /** The coordinator that is called now. */
    public URI base() {
        return addresses.current();
    }

    /** Makes a call without a body. */
    public <A> A call(Target<Void, A> to) throws CoordinatorException {
        return transport.call(to);
    }

    /** Makes a call without a body whose answer has none either. */
    public void tell(Target<Void, Void> to) throws CoordinatorException {
        transport.tell(to, null);
    }

    /** Gets something that may not be there. */
    public <A> Optional<A> find(Target<Void, A> to) throws CoordinatorException {
        return transport.find(to);
    }

    /** The cluster, if one was formed. */
    public Optional<Cluster> cluster() throws CoordinatorException {
        return find(ClusterOperations.CLUSTER.at());
    }

    /** Forms the cluster. */
    public Cluster formCluster(ClusterRequest request) throws CoordinatorException {
        return transport.call(ClusterOperations.FORM.at(), request);
    }

    /** All rows of the coordinator's store. */
    public StoreCopy backup() throws CoordinatorException {
        return call(ClusterOperations.BACKUP.at());
    }

    /** All nodes. */
    public List<Node> nodes() throws CoordinatorException {
        return call(NodeOperations.LIST.at());
    }

    /** What is wrong in the cluster, counts of the whole of it, and some of its nodes. */
    public Overview overview(NodeFilter nodes) throws CoordinatorException {
        return call(ViewOperations.OF_CLUSTER.at().with(nodes.query()));
    }

    /** As the other one, without spaces and links: its size depends on the nodes and the alerts alone. */
    public Overview overviewOfNodes(NodeFilter nodes) throws CoordinatorException {
        return call(ViewOperations.OF_CLUSTER
                .at()
                .with("links", 0)
                .with("spaces", 0)
                .with(nodes.query()));
    }

    /**
     * Spaces in the order of their names: where they are and which nodes work with them. The status of the filter is
     * not used.
     */
    public List<SpaceUse> spaceUses(NodeFilter names) throws CoordinatorException {
        return call(ViewOperations.OF_SPACES.at().with(names.query()));
    }

    /** A node, if it is registered. */
    public Optional<Node> node(String id) throws CoordinatorException {
        return find(NodeOperations.SHOW.at(id));
    }

    /** Has a node emptied under running guests; the same request again changes nothing. */
    public Drain drain(String node) throws CoordinatorException {
        return call(NodeOperations.BEGIN_DRAIN.at(node));
    }

    /** How far a node has been emptied. */
    public Drain drained(String node) throws CoordinatorException {
        return call(NodeOperations.DRAINED.at(node));
    }

    /** Stops emptying a node. */
    public void cancelDrain(String node) throws CoordinatorException {
        tell(NodeOperations.CANCEL_DRAIN.at(node));
    }

    /** Registers a node or changes its registration; a new incarnation ends all that the old one had published. */
    public Node register(String id, Registration registration) throws CoordinatorException {
        return transport.call(NodeOperations.REGISTER.at(id), registration);
    }

    /** Renews a node's lease. */
    public Lease heartbeat(String id, Incarnation incarnation) throws CoordinatorException {
        return transport.call(NodeOperations.HEARTBEAT.at(id), new Heartbeat(incarnation));
    }

    /**
     * Takes a node out, with all it has published.
     *
     * @param force whether to take it out although it has the only copy of pages, which are lost
     */
    public void deregister(String id, Incarnation incarnation, boolean force) throws CoordinatorException {
        tell(NodeOperations.REMOVE
                .at(id)
                .with("incarnation", incarnation)
                .with("force", force ? Optional.of(true) : Optional.empty()));
    }

    /** What other nodes have published toward a node. */
    public List<Endpoint> offers(String node) throws CoordinatorException {
        return call(NodeOperations.OFFERS.at(node));
    }

    /** What a node has published toward one peer, if anything. */
    public Optional<Endpoint> endpoint(String node, String peer) throws CoordinatorException {
        return find(NodeOperations.SHOW_ENDPOINT.at(node, peer));
    }

    /** Publishes a node's endpoint toward a peer. It replaces an earlier one. */
    public Endpoint publishEndpoint(String node, String peer, EndpointRequest request) throws CoordinatorException {
        return transport.call(NodeOperations.PUBLISH_ENDPOINT.at(node, peer), request);
    }

    /** Publishes a home's grant for a node that is attached to a space. It replaces an earlier one. */
    public void publishGrant(String home, long space, String node, GrantRequest request) throws CoordinatorException {
        transport.call(NodeOperations.PUBLISH_GRANT.at(home, space, node), request);
    }

    /** Publishes a home's grant for a node that pulls an extent. */
    public void publishGrant(String home, long space, String node, ExtentEpoch pull, GrantRequest request)
            throws CoordinatorException {
        transport.call(
                NodeOperations.PUBLISH_GRANT_OF_PULL.at(home, space, node, pull.firstPage(), pull.epoch()), request);
    }

    /** Says how a pull of a node has ended. Returns the extents as they are then. */
    public SpaceExtents pulled(String node, PullReport report) throws CoordinatorException {
        return transport.call(NodeOperations.PULLED.at(node), report);
    }

    /** All spaces. */
    public List<Space> spaces() throws CoordinatorException {
        return call(SpaceOperations.LIST.at());
    }

    /** A space by id or name, if there is one. */
    public Optional<Space> space(String idOrName) throws CoordinatorException {
        return find(SpaceOperations.SHOW.at(idOrName));
    }

    /**
     * Whether the coordinator has given an id away and the space is gone. False for an id that the coordinator does not
     * know, as one that is on an empty store or on a copy from before the space was created.
     */
    public boolean isDeleted(long id) throws CoordinatorException {
        try {
            call(SpaceOperations.SHOW.at(id));
            return false;
        } catch (CoordinatorRefusedException e) {
            if (e.isNotFound()) {
                return e.problem().is(Space.DELETED);
            }
            throw e;
        }
    }

    /**
     * Makes a space with a {@link io.farpage.coordinator.model.Presence presence map} and allocates all its extents, or
     * nothing. If the connection breaks before the answer, the request is sent a second time, and the coordinator knows
     * it by its key.
     */
    public Space createSpace(SpaceRequest request) throws CoordinatorException {
        return transport.call(SpaceOperations.CREATE.at().with("presence", true), request);
    }

    /** Makes a snapshot of a space that no node uses. Nothing happens if it is one. */
    public Space makeSnapshot(String idOrName) throws CoordinatorException {
        return call(SpaceOperations.MAKE_SNAPSHOT.at(idOrName));
    }

    /** Makes a clone of a snapshot; if the connection breaks before the answer, as {@link #createSpace} does. */
    public Space makeClone(String snapshot, CloneRequest request) throws CoordinatorException {
        return transport.call(SpaceOperations.MAKE_CLONE.at(snapshot), request);
    }

    /**
     * Deletes the space that has an id or name now, as {@link #deleteSpace(long)} does. A caller that repeats a
     * deletion names the id: a name may have passed to another space.
     */
    public void deleteSpace(String idOrName) throws CoordinatorException {
        OptionalLong id = Space.idOf(idOrName);
        deleteSpace(
                id.isPresent()
                        ? id.getAsLong()
                        : call(SpaceOperations.SHOW.at(idOrName)).id());
    }

    /**
     * Deletes a space once no node is attached to it; its frames are free when the home nodes have zeroed them. Nothing
     * happens if it was deleted before, so a call without an answer can be repeated: no other space is given the id.
     */
    public void deleteSpace(long id) throws CoordinatorException {
        try {
            tell(SpaceOperations.DELETE.at(id));
        } catch (CoordinatorRefusedException e) {
            if (!e.problem().is(Space.DELETED)) {
                throw e;
            }
        }
    }

    /** Says which nodes may attach a space from now on. */
    public Space allow(String idOrName, SpaceNodes nodes) throws CoordinatorException {
        return transport.call(SpaceOperations.ALLOW.at(idOrName), nodes);
    }

    /** Gives each extent of a space more homes. */
    public Space replicate(String idOrName, SpaceReplicas replicas) throws CoordinatorException {
        return transport.call(SpaceOperations.REPLICATE.at(idOrName), replicas);
    }

    /** The nodes that work with a space. */
    public List<Attachment> attachments(String idOrName) throws CoordinatorException {
        return call(SpaceOperations.ATTACHED.at(idOrName));
    }

    /** Attaches a node to a space: until it is detached the space's room is given to no other. */
    public Attachment attach(String idOrName, String node, AttachRequest request) throws CoordinatorException {
        return transport
                .call(SpaceOperations.ATTACH.at(idOrName, node), request)
                .attachment();
    }

    /**
     * As {@link #attach}, with the extents as they are then. A coordinator of an earlier build leaves them out.
     */
    public NewAttachment attachAndRead(String idOrName, String node, AttachRequest request)
            throws CoordinatorException {
        return transport.call(SpaceOperations.ATTACH.at(idOrName, node).with("extents", true), request);
    }

    /**
     * Makes a clone of a snapshot and attaches a node to it, in one change. Answers its extents, too.
     */
    public NewAttachment attachClone(String snapshot, String clone, String node, AttachRequest request)
            throws CoordinatorException {
        return transport.call(SpaceOperations.ATTACH_CLONE.at(snapshot, clone, node), request);
    }

    /** Detaches a node from a space. */
    public void detach(String idOrName, String node, Incarnation incarnation, Detachment how)
            throws CoordinatorException {
        tell(SpaceOperations.DETACH
                .at(idOrName, node)
                .with("incarnation", incarnation)
                .with("torn", how.torn())
                .with("seal", how.seal())
                .with("presence", how.presence())
                .with("loaded", how.loaded() ? Optional.of(true) : Optional.empty()));
    }

    /**
     * Drops a home from extents of a space that a node has attached exclusively. Returns the extents as they are then.
     */
    public SpaceExtents drop(String idOrName, String node, DropRequest request) throws CoordinatorException {
        return transport.call(SpaceOperations.DROP.at(idOrName, node), request);
    }

    /** Says that all pages of extents are copied to the homes that join them. Returns the extents as they are then. */
    public SpaceExtents promote(String idOrName, String node, WriterRequest request) throws CoordinatorException {
        return transport.call(SpaceOperations.PROMOTE.at(idOrName, node), request);
    }

    /** Says that the homes that join extents may pull the pages. Returns the extents as they are then. */
    public SpaceExtents allowPulls(String idOrName, String node, WriterRequest request) throws CoordinatorException {
        return transport.call(SpaceOperations.ALLOW_PULLS.at(idOrName, node), request);
    }

    /** Says that a node has nothing under way to homes that were dropped. Returns the extents as they are then. */
    public SpaceExtents acknowledgeDrops(String idOrName, String node, WriterRequest ack) throws CoordinatorException {
        return transport.call(SpaceOperations.ACKNOWLEDGE_DROPS.at(idOrName, node), ack);
    }

    /**
     * Asks for room for extents of a thin space that a node is about to write to. Answers the extents as they are then.
     *
     * @throws CoordinatorRefusedException if there is room for none of them, or one is in another epoch
     */
    public SpaceExtents allocate(String idOrName, String node, WriterRequest request) throws CoordinatorException {
        return transport.call(SpaceOperations.ALLOCATE.at(idOrName, node), request);
    }

    /** Gives room of a thin space back whose pages are all zeros. Answers the extents as they are then. */
    public SpaceExtents deallocate(String idOrName, String node, WriterRequest request) throws CoordinatorException {
        return transport.call(SpaceOperations.DEALLOCATE.at(idOrName, node), request);
    }

    /**
     * Makes a snapshot of the pages that the homes of a running guest's space have. The space is a clone of it from
     * then on.
     */
    public Space makeSnapshot(String idOrName, String node, SnapshotRequest request) throws CoordinatorException {
        return transport.call(SpaceOperations.MAKE_SNAPSHOT_OF_GUEST.at(idOrName, node), request);
    }

    /** Where the pages of a space live, if there is such a space. */
    public Optional<SpaceExtents> extents(String idOrName) throws CoordinatorException {
        return find(SpaceOperations.EXTENTS.at(idOrName));
    }

    /** Reports how warm pages are. */
    public void reportHeat(String idOrName, HeatReport report) throws CoordinatorException {
        transport.tell(SpaceOperations.HEAT.at(idOrName), report);
    }

    /**
     * Reports how the guests of a node have faulted.
     *
     * @return what the next report must have
     */
    public FiguresWanted reportFigures(String node, FiguresReport report) throws CoordinatorException {
        return transport.call(NodeOperations.FIGURES.at(node), report);
    }

    /** Reports how far a node has copied pages. */
    public void reportCopies(String node, CopyReport report) throws CoordinatorException {
        transport.tell(NodeOperations.COPIES.at(node), report);
    }

    /** How far a space is from having all its homes; empty if there is no such space. */
    public Optional<Repair> repair(String idOrName) throws CoordinatorException {
        return find(SpaceOperations.REPAIR.at(idOrName));
    }

    /** All that a node must do as a home. */
    public Hosted hosted(String node) throws CoordinatorException {
        return call(NodeOperations.HOSTED.at(node));
    }

    /** Says that a node has applied what it hosts. */
    public void acknowledgeHosted(String node, HostedAck ack) throws CoordinatorException {
        transport.tell(NodeOperations.ACKNOWLEDGE_HOSTED.at(node), ack);
    }

    /**
     * All that a node needs for the spaces that it works with.
     *
     * @param since mark of an earlier document, whose parts are left out unless they have changed; 0 for all parts
     */
    public Attached attached(String node, long since) throws CoordinatorException {
        return call(NodeOperations.ATTACHED.at(node).with("since", since));
    }

    /** Tells a coordinator that is being rebuilt what a node knows. The answer is used whatever the allegiance. */
    public RebuildStatus report(String node, NodeReport report) throws CoordinatorException {
        return transport.rebuild(RebuildOperations.REPORT.at(node), report);
    }

    /** A new certificate for the key of a node that shows its present one. */
    public IssuedCertificate renewCertificate(String node, CertificateRequest request) throws CoordinatorException {
        return transport.call(NodeOperations.RENEW_CERTIFICATE.at(node), request);
    }

    /** How far the rebuild of a coordinator is. */
    public RebuildStatus rebuildStatus() throws CoordinatorException {
        return transport.rebuild(RebuildOperations.STATUS.at(), null);
    }

    /** Ends the rebuild of a coordinator. */
    public RebuildStatus finishRebuild(RebuildFinish finish) throws CoordinatorException {
        return transport.rebuild(RebuildOperations.FINISH.at(), finish);
    }

    /**
     * Waits for events after an index.
     *
     * @param index the last one seen; 0 to begin with
     * @param wait how long to wait when there is none yet, up to 60 s
     */
    public EventBatch events(long index, Duration wait) throws CoordinatorException {
        return transport.call(eventsAfter(index, wait), null, wait);
    }

    /**
     * As the other one, for the events that concern a node.
     *
     * @param node that watches
     * @param peers nodes whose changes concern it; of all nodes, if empty
     */
    public EventBatch events(long index, Duration wait, String node, Optional<Set<String>> peers)
            throws CoordinatorException {
        Optional<String> list = peers.map(ids -> String.join(",", ids));
        return transport.call(eventsAfter(index, wait).with("node", node).with("peers", list), null, wait);
    }

    @Override
    public void close() {
        transport.close();
    }

    private static Target<Void, EventBatch> eventsAfter(long index, Duration wait) {
        return ClusterOperations.EVENTS.at().with("index", index).with("wait", wait.toMillis() + "ms");
    }
}
