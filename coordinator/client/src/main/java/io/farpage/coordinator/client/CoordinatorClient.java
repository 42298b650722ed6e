package io.farpage.coordinator.client;

import io.farpage.coordinator.model.AttachRequest;
import io.farpage.coordinator.model.Attached;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.CertificateRequest;
import io.farpage.coordinator.model.Cluster;
import io.farpage.coordinator.model.ClusterRequest;
import io.farpage.coordinator.model.CopyReport;
import io.farpage.coordinator.model.Drain;
import io.farpage.coordinator.model.DropRequest;
import io.farpage.coordinator.model.Endpoint;
import io.farpage.coordinator.model.EndpointRequest;
import io.farpage.coordinator.model.EventBatch;
import io.farpage.coordinator.model.ExtentEpoch;
import io.farpage.coordinator.model.FiguresReport;
import io.farpage.coordinator.model.FiguresWanted;
import io.farpage.coordinator.model.Grant;
import io.farpage.coordinator.model.GrantRequest;
import io.farpage.coordinator.model.GuestFigures;
import io.farpage.coordinator.model.Heartbeat;
import io.farpage.coordinator.model.HeatReport;
import io.farpage.coordinator.model.Hosted;
import io.farpage.coordinator.model.HostedAck;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.IssuedCertificate;
import io.farpage.coordinator.model.Lease;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.NodeFigures;
import io.farpage.coordinator.model.NodeFilter;
import io.farpage.coordinator.model.NodeReport;
import io.farpage.coordinator.model.Overview;
import io.farpage.coordinator.model.PageInfo;
import io.farpage.coordinator.model.PullReport;
import io.farpage.coordinator.model.RebuildFinish;
import io.farpage.coordinator.model.RebuildStatus;
import io.farpage.coordinator.model.Region;
import io.farpage.coordinator.model.RegionRequest;
import io.farpage.coordinator.model.Registration;
import io.farpage.coordinator.model.Repair;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.coordinator.model.SpaceNodes;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.coordinator.model.SpaceUse;
import io.farpage.coordinator.model.StoreCopy;
import io.farpage.coordinator.model.WriterRequest;
import io.farpage.tls.Credentials;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;

/**
 * Calls the coordinator. Every call blocks until the answer is there or the deadline has passed, and throws
 * {@link CoordinatorUnreachableException}, {@link CoordinatorRefusedException} or
 * {@link CoordinatorNotObeyedException}. Thread-safe; made for virtual threads. Nothing is retried and nothing kept
 * between calls, so a coordinator that comes back is simply reached again. Closing ends the calls under way.
 */
public final class CoordinatorClient implements AutoCloseable {

    private static final String API = "/api/v1";

    private final Addresses addresses;
    private final Allegiance allegiance;
    private final Transport transport;

    /**
     * Makes a client; nothing is connected yet.
     *
     * @param base such as {@code http://127.0.0.1:7400}; what follows host and port is ignored
     * @param deadline of each call, from connecting to the last byte of the answer; a long poll adds its wait
     * @throws IllegalArgumentException if the base is no http URL with a host or the deadline is not positive
     */
    public CoordinatorClient(URI base, Duration deadline) {
        this(base, deadline, new Allegiance());
    }

    /**
     * Makes a client that uses no answer of a coordinator that the allegiance does not obey.
     *
     * @param allegiance told of every answer
     * @throws IllegalArgumentException as the other constructor does
     */
    public CoordinatorClient(URI base, Duration deadline, Allegiance allegiance) {
        this(base, deadline, allegiance, Credentials.NONE);
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
     * Makes a client of several coordinators, one of which leads. A coordinator that is not reached is left for the
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

    /** The cluster, if one was formed. */
    public Optional<Cluster> cluster() throws CoordinatorException {
        return transport.find(API + "/cluster", Cluster.class);
    }

    /** Forms the cluster. */
    public Cluster formCluster(ClusterRequest request) throws CoordinatorException {
        return transport.call("POST", API + "/cluster", request, Cluster.class);
    }

    /** Dissolves the cluster; its nodes stay registered. */
    public void dissolveCluster() throws CoordinatorException {
        transport.call("DELETE", API + "/cluster", null);
    }

    /** All rows of the coordinator's store. */
    public StoreCopy backup() throws CoordinatorException {
        return transport.call("GET", API + "/backup", null, StoreCopy.class);
    }

    /** All nodes. */
    public List<Node> nodes() throws CoordinatorException {
        return List.of(transport.call("GET", API + "/nodes", null, Node[].class));
    }

    /** What is wrong in the cluster, counts of the whole of it, and some of its nodes. */
    public Overview overview(NodeFilter nodes) throws CoordinatorException {
        return transport.call("GET", API + "/overview?" + nodes.query(), null, Overview.class);
    }

    /** As the other one, without spaces and links: its size depends on the nodes and the alerts alone. */
    public Overview overviewOfNodes(NodeFilter nodes) throws CoordinatorException {
        return transport.call("GET", API + "/overview?links=0&spaces=0&" + nodes.query(), null, Overview.class);
    }

    /**
     * Spaces in the order of their names: where they are and which nodes work with them. Of the filter, the status is
     * not used.
     */
    public List<SpaceUse> spaceUses(NodeFilter names) throws CoordinatorException {
        return List.of(transport.call("GET", API + "/overview/spaces?" + names.query(), null, SpaceUse[].class));
    }

    /** A node, if it is registered. */
    public Optional<Node> node(String id) throws CoordinatorException {
        return transport.find(nodePath(id), Node.class);
    }

    /** Has a node emptied under running guests; the same request again changes nothing. */
    public Drain drain(String node) throws CoordinatorException {
        return transport.call("POST", nodePath(node) + "/drain", null, Drain.class);
    }

    /** How far a node has been emptied. */
    public Drain drained(String node) throws CoordinatorException {
        return transport.call("GET", nodePath(node) + "/drain", null, Drain.class);
    }

    /** Stops emptying a node. */
    public void cancelDrain(String node) throws CoordinatorException {
        transport.call("DELETE", nodePath(node) + "/drain", null);
    }

    /** Registers a node or changes its registration; a new incarnation ends all that the old one had published. */
    public Node register(String id, Registration registration) throws CoordinatorException {
        return transport.call("PUT", nodePath(id), registration, Node.class);
    }

    /** Renews a node's lease. */
    public Lease heartbeat(String id, Incarnation incarnation) throws CoordinatorException {
        return transport.call("POST", nodePath(id) + "/heartbeat", new Heartbeat(incarnation), Lease.class);
    }

    /**
     * Takes a node out, with all it has published.
     *
     * @param force whether to take it out although it has the only copy of pages, which are lost
     */
    public void deregister(String id, Incarnation incarnation, boolean force) throws CoordinatorException {
        transport.call("DELETE", nodePath(id) + "?incarnation=" + incarnation + (force ? "&force=true" : ""), null);
    }

    /** What a node has published toward its peers. */
    public List<Endpoint> endpoints(String node) throws CoordinatorException {
        return List.of(transport.call("GET", nodePath(node) + "/endpoints", null, Endpoint[].class));
    }

    /** What other nodes have published toward a node. */
    public List<Endpoint> offers(String node) throws CoordinatorException {
        return List.of(transport.call("GET", nodePath(node) + "/offers", null, Endpoint[].class));
    }

    /** What a node has published toward one peer, if anything. */
    public Optional<Endpoint> endpoint(String node, String peer) throws CoordinatorException {
        return transport.find(endpointPath(node, peer), Endpoint.class);
    }

    /** Publishes a node's endpoint toward a peer, in the place of any earlier one. */
    public Endpoint publishEndpoint(String node, String peer, EndpointRequest request) throws CoordinatorException {
        return transport.call("PUT", endpointPath(node, peer), request, Endpoint.class);
    }

    /** Withdraws a node's endpoint toward a peer; nothing happens if there is none. */
    public void withdrawEndpoint(String node, String peer, Incarnation incarnation) throws CoordinatorException {
        transport.call("DELETE", endpointPath(node, peer) + "?incarnation=" + incarnation, null);
    }

    /** The regions of a node. */
    public List<Region> regions(String node) throws CoordinatorException {
        return List.of(transport.call("GET", nodePath(node) + "/regions", null, Region[].class));
    }

    /** A region of a node, if it was published. */
    public Optional<Region> region(String node, String name) throws CoordinatorException {
        return transport.find(nodePath(node) + "/regions/" + encoded(name), Region.class);
    }

    /** Publishes a region, in the place of any earlier one of that name. */
    public Region publishRegion(String node, String name, RegionRequest request) throws CoordinatorException {
        return transport.call("PUT", nodePath(node) + "/regions/" + encoded(name), request, Region.class);
    }

    /** Publishes a home's grant for a node that is attached to a space, in the place of any earlier one. */
    public void publishGrant(String home, long space, String node, GrantRequest request) throws CoordinatorException {
        transport.call("PUT", grantPath(home, space, node), request, Grant.class);
    }

    /** Publishes a home's grant for a node that pulls an extent. */
    public void publishGrant(String home, long space, String node, ExtentEpoch pull, GrantRequest request)
            throws CoordinatorException {
        transport.call("PUT", pullPath(home, space, node, pull), request, Grant.class);
    }

    /** Says how a pull of a node has ended. Returns the extents as they are then. */
    public SpaceExtents pulled(String node, PullReport report) throws CoordinatorException {
        return transport.call("POST", nodePath(node) + "/pulls", report, SpaceExtents.class);
    }

    /** All spaces. */
    public List<Space> spaces() throws CoordinatorException {
        return List.of(transport.call("GET", API + "/spaces", null, Space[].class));
    }

    /** A space by id or name, if there is one. */
    public Optional<Space> space(String idOrName) throws CoordinatorException {
        return transport.find(spacePath(idOrName), Space.class);
    }

    /**
     * Whether the coordinator has given an id away and the space is gone. False for an id that the coordinator does not
     * know, as one that is on an empty store or on a copy from before the space was created.
     */
    public boolean isDeleted(long id) throws CoordinatorException {
        try {
            transport.call("GET", spacePath(Long.toString(id)), null, Space.class);
            return false;
        } catch (CoordinatorRefusedException e) {
            if (e.isNotFound()) {
                return e.problem().is(Space.DELETED);
            }
            throw e;
        }
    }

    /**
     * Makes a space and allocates all its extents, or nothing. If the connection breaks before the answer, the request
     * is sent a second time, and the coordinator knows it by its key. A coordinator that is older than keys refuses the
     * second request ({@code name-taken}) if it has carried out the first.
     */
    public Space createSpace(SpaceRequest request) throws CoordinatorException {
        return transport.callOnce("POST", API + "/spaces", request, Space.class);
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
                        : transport
                                .call("GET", spacePath(idOrName), null, Space.class)
                                .id());
    }

    /**
     * Deletes a space once no node is attached to it; its frames are free when the home nodes have zeroed them. Nothing
     * happens if it was deleted before, so a call without an answer can be repeated: no other space is given the id.
     */
    public void deleteSpace(long id) throws CoordinatorException {
        try {
            transport.call("DELETE", spacePath(Long.toString(id)), null);
        } catch (CoordinatorRefusedException e) {
            if (!e.problem().is(Space.DELETED)) {
                throw e;
            }
        }
    }

    /** Says which nodes may attach a space from now on. */
    public Space allow(String idOrName, SpaceNodes nodes) throws CoordinatorException {
        return transport.call("PUT", spacePath(idOrName) + "/nodes", nodes, Space.class);
    }

    /** The nodes that work with a space. */
    public List<Attachment> attachments(String idOrName) throws CoordinatorException {
        return List.of(transport.call("GET", spacePath(idOrName) + "/attachments", null, Attachment[].class));
    }

    /** Attaches a node to a space: until it is detached the space's room is given to no other. */
    public Attachment attach(String idOrName, String node, AttachRequest request) throws CoordinatorException {
        return transport.call("PUT", attachmentPath(idOrName, node), request, Attachment.class);
    }

    /** Detaches a node from a space: it will not touch the space's pages again. */
    public void detach(String idOrName, String node, Incarnation incarnation) throws CoordinatorException {
        transport.call("DELETE", attachmentPath(idOrName, node) + "?incarnation=" + incarnation, null);
    }

    /** Detaches a node from a space not all of whose pages are at their homes, and says why; the space is torn then. */
    public void detachTorn(String idOrName, String node, Incarnation incarnation, String reason)
            throws CoordinatorException {
        transport.call(
                "DELETE",
                attachmentPath(idOrName, node) + "?incarnation=" + incarnation + "&torn=" + encoded(reason),
                null);
    }

    /**
     * Detaches a node from a space that it had exclusively.
     *
     * @param torn why not all pages are at their homes; empty if all are
     * @param seal the mark of the file with the tags of an encrypted space; empty if the node left no newer one
     */
    public void detach(
            String idOrName, String node, Incarnation incarnation, Optional<String> torn, Optional<String> seal)
            throws CoordinatorException {
        String query = "?incarnation=" + incarnation
                + torn.map(reason -> "&torn=" + encoded(reason)).orElse("")
                + seal.map(mark -> "&seal=" + mark).orElse("");
        transport.call("DELETE", attachmentPath(idOrName, node) + query, null);
    }

    /**
     * Drops a home from extents of a space that a node has attached exclusively. Returns the extents as they are then.
     */
    public SpaceExtents drop(String idOrName, String node, DropRequest request) throws CoordinatorException {
        return transport.call("POST", attachmentPath(idOrName, node) + "/drops", request, SpaceExtents.class);
    }

    /** Says that all pages of extents are copied to the homes that join them. Returns the extents as they are then. */
    public SpaceExtents promote(String idOrName, String node, WriterRequest request) throws CoordinatorException {
        return transport.call("POST", attachmentPath(idOrName, node) + "/promotions", request, SpaceExtents.class);
    }

    /** Says that the homes that join extents may pull the pages. Returns the extents as they are then. */
    public SpaceExtents allowPulls(String idOrName, String node, WriterRequest request) throws CoordinatorException {
        return transport.call("POST", attachmentPath(idOrName, node) + "/pulls", request, SpaceExtents.class);
    }

    /** Says that a node has nothing under way to homes that were dropped. Returns the extents as they are then. */
    public SpaceExtents acknowledgeDrops(String idOrName, String node, WriterRequest ack) throws CoordinatorException {
        return transport.call("POST", attachmentPath(idOrName, node) + "/drops/ack", ack, SpaceExtents.class);
    }

    /** Where the pages of a space live, if there is such a space. */
    public Optional<SpaceExtents> extents(String idOrName) throws CoordinatorException {
        return transport.find(spacePath(idOrName) + "/extents", SpaceExtents.class);
    }

    /** Where one page lives; the address may be any byte of it. */
    public PageInfo page(String idOrName, long gpa) throws CoordinatorException {
        return transport.call("GET", spacePath(idOrName) + "/pages/0x" + Long.toHexString(gpa), null, PageInfo.class);
    }

    /** Reports how warm pages are. */
    public void reportHeat(String idOrName, HeatReport report) throws CoordinatorException {
        transport.call("POST", spacePath(idOrName) + "/heat", report);
    }

    /**
     * Reports how the guests of a node have faulted. Refused as not found by a coordinator that is older than this
     * request.
     *
     * @return what the next report is to have
     */
    public FiguresWanted reportFigures(String node, FiguresReport report) throws CoordinatorException {
        return transport.call("POST", nodePath(node) + "/figures", report, FiguresWanted.class);
    }

    /**
     * Reports how far a node has copied pages. Refused as not found by a coordinator that is older than this request.
     */
    public void reportCopies(String node, CopyReport report) throws CoordinatorException {
        transport.call("POST", nodePath(node) + "/copies", report);
    }

    /** How far a space is from having all its homes; empty if there is no such space. */
    public Optional<Repair> repair(String idOrName) throws CoordinatorException {
        return transport.find(spacePath(idOrName) + "/repair", Repair.class);
    }

    /** How the guests of nodes have faulted, of all nodes. */
    public NodeFigures nodeFigures() throws CoordinatorException {
        return transport.call("GET", API + "/figures/nodes", null, NodeFigures.class);
    }

    /** How all guests have faulted, and where their pages are. */
    public GuestFigures guestFigures() throws CoordinatorException {
        return transport.call("GET", API + "/figures/guests", null, GuestFigures.class);
    }

    /**
     * The figures of one guest, by the name or id of its space; empty if there is no such space. Its agent is asked for
     * its map.
     */
    public Optional<GuestFigures> guestFigures(String space) throws CoordinatorException {
        return transport.find(API + "/figures/guests/" + encoded(space), GuestFigures.class);
    }

    /** All that a node must do as a home. */
    public Hosted hosted(String node) throws CoordinatorException {
        return transport.call("GET", nodePath(node) + "/hosted", null, Hosted.class);
    }

    /** Says that a node has applied what it hosts. */
    public void acknowledgeHosted(String node, HostedAck ack) throws CoordinatorException {
        transport.call("POST", nodePath(node) + "/hosted/ack", ack);
    }

    /**
     * All that a node needs for the spaces that it works with.
     *
     * @param since mark of an earlier document, whose parts are left out unless they have changed; 0 for all parts
     */
    public Attached attached(String node, long since) throws CoordinatorException {
        return transport.call("GET", nodePath(node) + "/attached?since=" + since, null, Attached.class);
    }

    /** Tells a coordinator that is being rebuilt what a node knows. The answer is used whatever the allegiance. */
    public RebuildStatus report(String node, NodeReport report) throws CoordinatorException {
        return transport.rebuild("PUT", API + "/rebuild/nodes/" + encoded(node), report);
    }

    /** A new certificate for the key of a node that shows its present one. */
    public IssuedCertificate renewCertificate(String node, CertificateRequest request) throws CoordinatorException {
        return transport.call("POST", nodePath(node) + "/certificate", request, IssuedCertificate.class);
    }

    /** How far the rebuild of a coordinator is. */
    public RebuildStatus rebuildStatus() throws CoordinatorException {
        return transport.rebuild("GET", API + "/rebuild", null);
    }

    /** Ends the rebuild of a coordinator. */
    public RebuildStatus finishRebuild(RebuildFinish finish) throws CoordinatorException {
        return transport.rebuild("POST", API + "/rebuild/finish", finish);
    }

    /**
     * Waits for events after an index.
     *
     * @param index the last one seen; 0 to begin with
     * @param wait how long to wait when there is none yet, up to 60 s
     */
    public EventBatch events(long index, Duration wait) throws CoordinatorException {
        String path = API + "/events?index=" + index + "&wait=" + wait.toMillis() + "ms";
        return transport.call("GET", path, null, EventBatch.class, wait);
    }

    /**
     * As the other one, for the events that concern a node.
     *
     * @param node that watches
     * @param peers nodes whose changes concern it; of all nodes, if empty
     */
    public EventBatch events(long index, Duration wait, String node, Optional<Set<String>> peers)
            throws CoordinatorException {
        String path = API + "/events?index=" + index + "&wait=" + wait.toMillis() + "ms&node=" + encoded(node)
                + peers.map(ids -> "&peers=" + String.join(",", ids)).orElse("");
        return transport.call("GET", path, null, EventBatch.class, wait);
    }

    @Override
    public void close() {
        transport.close();
    }

    private static String grantPath(String home, long space, String node) {
        return nodePath(home) + "/grants/" + space + "/" + encoded(node);
    }

    private static String pullPath(String home, long space, String node, ExtentEpoch pull) {
        return "%s/pulls/%d/%d".formatted(grantPath(home, space, node), pull.firstPage(), pull.epoch());
    }

    private static String nodePath(String id) {
        return API + "/nodes/" + encoded(id);
    }

    private static String endpointPath(String node, String peer) {
        return nodePath(node) + "/endpoints/" + encoded(peer);
    }

    private static String attachmentPath(String space, String node) {
        return spacePath(space) + "/attachments/" + encoded(node);
    }

    private static String spacePath(String idOrName) {
        return API + "/spaces/" + encoded(idOrName);
    }

    private static String encoded(String segment) {
        return URLEncoder.encode(segment, StandardCharsets.UTF_8).replace("+", "%20");
    }
}
