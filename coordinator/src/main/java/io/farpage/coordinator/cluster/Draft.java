package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.Cluster;
import io.farpage.coordinator.model.Endpoint;
import io.farpage.coordinator.model.Event;
import io.farpage.coordinator.model.EventKind;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.Fence;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.Release;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.store.Change;
import io.farpage.coordinator.store.Table;
import io.farpage.rest.ProblemException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * A change in the making: the state as it will be, the rows to store and the events to tell. Thrown away if anything is
 * refused.
 */
final class Draft {

    static final String INDEX = "index";
    static final String NEXT_ID = "next-id";

    /** Indexes of events that are reserved at once. */
    static final int RESERVE = 1_000;

    private final List<Change> changes = new ArrayList<>();
    private final List<Event> events = new ArrayList<>();
    private long index;
    private long reserved;
    private long nextId;

    final Rows<Cluster> cluster;
    final Rows<Node> nodes;
    final Rows<State.Retired> retired;
    final Rows<Endpoint> endpoints;
    private final Rows<Endpoint> offers;
    private int entries;
    final Rows<Space> spaces;
    private final Rows<State.Extents> extentRows;
    private Index<State.Extents> groups;
    private PoolRanges used;
    private PoolRanges released;
    final ExtentTable extents;
    final Rows<Release> releases;
    final Rows<Attachment> attachments;
    final Rows<Fence> fences;
    final Rows<State.Draining> drains;

    Draft(State before) {
        index = before.index();
        reserved = before.reserved();
        nextId = before.nextId();
        cluster = Rows.durable(Table.CLUSTER, before.cluster(), changes);
        nodes = Rows.durable(Table.NODES, before.nodes(), changes);
        retired = Rows.durable(Table.RETIRED, before.retired(), changes);
        endpoints = Rows.soft(before.soft().endpoints());
        offers = Rows.soft(before.soft().offers());
        entries = before.soft().entries();
        spaces = Rows.durable(Table.SPACES, before.spaces(), changes);
        groups = before.derived().groups();
        used = before.derived().used();
        released = before.derived().released();
        extentRows = Rows.indexed(before.extents(), before.derived().hosted(), this::onExtents);
        releases = Rows.durable(
                before.releases(), Rows.<Release>asRows(Table.RELEASES, changes).and(this::onRelease));
        attachments = Rows.indexed(
                Table.ATTACHMENTS, before.attachments(), before.derived().attached(), changes);
        fences = Rows.indexed(Table.FENCES, before.fences(), before.derived().cutOff(), changes);
        drains = Rows.durable(Table.DRAINS, before.drains(), changes);
        extents = new ExtentTable(this, extentRows);
    }

    private void onExtents(String space, Optional<State.Extents> before, Optional<State.Extents> after) {
        ExtentTable.store(space, before, after, changes);
        groups = groups.with(space, before, after);
        used = used.with(ranges(before), ranges(after));
    }

    private static List<PoolRanges.Range> ranges(Optional<State.Extents> extents) {
        return extents.map(State.Extents::ranges).orElse(List.of());
    }

    private void onRelease(String key, Optional<Release> before, Optional<Release> after) {
        released = released.with(
                before.map(release -> PoolRanges.Range.of(key, release)).stream()
                        .toList(),
                after.map(release -> PoolRanges.Range.of(key, release)).stream().toList());
    }

    /** The ranges of pools that extents have. */
    PoolRanges used() {
        return used;
    }

    /** The ranges of pools that nodes have yet to zero. */
    PoolRanges released() {
        return released;
    }

    /** Bytes of a node's pool that extents and releases have. */
    long usedBytes(Node node) {
        PoolRanges.Pool pool = PoolRanges.Pool.of(node);
        return used.of(pool).bytes() + released.of(pool).bytes();
    }

    /** The groups of {@code copies} homes that have pages of extents; none of one home. */
    Set<Set<String>> groups(int copies) {
        return copies == 1
                ? Set.of()
                : groups.words(Integer.toString(copies)).stream()
                        .map(word ->
                                Set.of(word.substring(word.indexOf('/') + 1).split("/")))
                        .collect(Collectors.toSet());
    }

    /** The index of the last event. */
    long index() {
        return index;
    }

    long newId() {
        changes.add(new Change(Table.COUNTERS, NEXT_ID, Optional.of(Long.toString(nextId + 1))));
        return nextId++;
    }

    /** Tells of an event and gives its index. */
    private long emit(Event event) {
        index = event.index();
        events.add(event);
        if (index > reserved) {
            reserve(index);
        }
        return index;
    }

    private void reserve(long upTo) {
        reserved = upTo;
        changes.add(new Change(Table.COUNTERS, INDEX, Optional.of(Long.toString(upTo))));
    }

    /**
     * Tells of something that the store does not keep. Indexes for such events are reserved in the store in advance,
     * many at once: a coordinator that is started again gives none of them to another event, and the clients that have
     * seen them read all state again.
     */
    long emitSoft(EventKind kind, Optional<String> node, Optional<String> peer) {
        reserveMany();
        return emit(kind, node, peer);
    }

    /** As the other one, of a space. */
    long emitSoft(EventKind kind, Optional<String> node, Optional<String> peer, Space space) {
        reserveMany();
        return emit(kind, node, peer, space);
    }

    private void reserveMany() {
        if (index + 1 > reserved) {
            reserve(index + RESERVE);
        }
    }

    void putEndpoint(Endpoint endpoint) {
        removeEndpoint(endpoint.node(), endpoint.peer());
        endpoints.put(Keys.endpoint(endpoint.node(), endpoint.peer()), endpoint);
        offers.put(Keys.endpoint(endpoint.peer(), endpoint.node()), endpoint);
        entries += endpoint.entries().size();
    }

    boolean removeEndpoint(String node, String peer) {
        Optional<Endpoint> known = endpoints.find(Keys.endpoint(node, peer));
        known.ifPresent(endpoint -> {
            endpoints.remove(Keys.endpoint(node, peer));
            offers.remove(Keys.endpoint(peer, node));
            entries -= endpoint.entries().size();
        });
        return known.isPresent();
    }

    /** Takes out what a node has published and what its peers have published toward it. */
    void withdraw(String node) {
        endpoints.under(node + "/").forEach(mine -> removeEndpoint(node, mine.peer()));
        offers.under(node + "/").forEach(theirs -> removeEndpoint(theirs.node(), node));
    }

    /** Queue pairs in all endpoints. */
    int entries() {
        return entries;
    }

    long emit(EventKind kind, Optional<String> node, Optional<String> peer) {
        return emit(new Event(index + 1, kind, node, peer, Optional.empty(), OptionalLong.empty()));
    }

    long emit(EventKind kind, String node) {
        return emit(kind, Optional.of(node), Optional.empty());
    }

    long emit(EventKind kind, Optional<String> node, Space space) {
        return emit(new Event(
                index + 1, kind, node, Optional.empty(), Optional.of(space.name()), OptionalLong.of(space.id())));
    }

    long emit(EventKind kind, Optional<String> node, Optional<String> peer, Space space) {
        return emit(new Event(index + 1, kind, node, peer, Optional.of(space.name()), OptionalLong.of(space.id())));
    }

    /** The node of an id, whose incarnation must be the one given. */
    Node requireNode(String id, Incarnation incarnation) {
        Node node = requireNode(id);
        if (!node.incarnation().equals(incarnation)) {
            throw stale(id, incarnation, node.incarnation());
        }
        return node;
    }

    Node requireNode(String id) {
        return nodes.find(id).orElseThrow(() -> unknownNode(id));
    }

    /**
     * Makes a node zero the frames of a copy, unless they are gone. Returns the node that must be notified.
     *
     * @param deleted whether the whole space is deleted
     */
    Optional<String> release(Space space, Extent extent, ExtentHome place, boolean deleted) {
        boolean isCurrent = nodes.find(place.node())
                .filter(known -> known.poolId().equals(place.incarnation()))
                .isPresent();
        if (!isCurrent) {
            return Optional.empty();
        }
        long id = newId();
        long length = extent.count() * space.pageSize();
        releases.put(
                Keys.release(place.node(), id),
                new Release(id, space.id(), place.incarnation(), place.offset(), length, deleted));
        return Optional.of(place.node());
    }

    /** Whether the lease of a node has run out. */
    boolean isFailed(String node) {
        return nodes.find(node)
                .filter(known -> known.status() == NodeStatus.FAILED)
                .isPresent();
    }

    /** Whether a node is marked for draining. */
    boolean isDraining(String node) {
        return drains.find(node).isPresent();
    }

    /** Whether a node may get new extents. */
    boolean isUsable(Node node) {
        return node.status() == NodeStatus.ACTIVE && node.pool().exportedBytes() > 0 && !isDraining(node.id());
    }

    /** The attachments of a space. */
    List<Attachment> attachedTo(Space space) {
        return List.copyOf(attachments.under(Keys.id(space.id()) + "/"));
    }

    /** The spaces that a node has pages of, or frames of a dropped copy; lost ones included. */
    List<Space> hostedBy(String node) {
        return extents.keysWith(node).stream()
                .flatMap(key -> spaces.find(key).stream())
                .toList();
    }

    /** The attachments of a node. */
    List<Attachment> attachedBy(String node) {
        return attachments.keysWith(node).stream()
                .flatMap(key -> attachments.find(key).stream())
                .toList();
    }

    /** A space by id or name. */
    Space requireSpace(String idOrName) {
        return findSpace(idOrName).orElseThrow(() -> State.missing(nextId, idOrName));
    }

    /** A space by id or name, if there is one. */
    Optional<Space> findSpace(String idOrName) {
        return State.space(spaces.current(), idOrName);
    }

    static ProblemException unknownNode(String id) {
        return ProblemException.notFound("node '%s' is not registered".formatted(id));
    }

    static ProblemException stale(String id, Incarnation given, Incarnation registered) {
        return ProblemException.conflict(
                "stale-incarnation",
                "incarnation %s of node '%s' is not the one registered now, %s".formatted(given, id, registered));
    }

    /** Whether there is anything to be stored or told. */
    boolean isChanged() {
        return !changes.isEmpty() || !events.isEmpty();
    }

    List<Change> changes() {
        return changes;
    }

    List<Event> events() {
        return events;
    }

    State finished() {
        assert index <= reserved : index;
        assert events.isEmpty() || events.getLast().index() == index : index;
        return new State(
                index,
                reserved,
                nextId,
                cluster.finished(),
                nodes.finished(),
                retired.finished(),
                new State.Published(endpoints.finished(), offers.finished(), entries),
                spaces.finished(),
                extentRows.finished(),
                releases.finished(),
                attachments.finished(),
                fences.finished(),
                drains.finished(),
                new State.Derived(extentRows.index(), attachments.index(), fences.index(), groups, used, released));
    }
}
