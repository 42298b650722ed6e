package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.Cluster;
import io.farpage.coordinator.model.Endpoint;
import io.farpage.coordinator.model.Event;
import io.farpage.coordinator.model.EventKind;
import io.farpage.coordinator.model.Fence;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.Region;
import io.farpage.coordinator.model.Release;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.store.Change;
import io.farpage.coordinator.store.Table;
import io.farpage.rest.ProblemException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/** A change in the making: the state as it will be, the rows to store and the events to tell. Thrown away if anything is refused. */
final class Draft {

    static final String INDEX = "index";
    static final String NEXT_ID = "next-id";

    private final List<Change> changes = new ArrayList<>();
    private final List<Event> events = new ArrayList<>();
    private long index;
    private long nextId;

    final Rows<Cluster> cluster;
    final Rows<Node> nodes;
    final Rows<State.Retired> retired;
    final Rows<Endpoint> endpoints;
    final Rows<Region> regions;
    final Rows<Space> spaces;
    final Rows<State.Extents> extents;
    final Rows<Release> releases;
    final Rows<Attachment> attachments;
    final Rows<Fence> fences;
    final Rows<State.Draining> drains;

    Draft(State before) {
        index = before.index();
        nextId = before.nextId();
        cluster = new Rows<>(Table.CLUSTER, before.cluster(), changes);
        nodes = new Rows<>(Table.NODES, before.nodes(), changes);
        retired = new Rows<>(Table.RETIRED, before.retired(), changes);
        endpoints = new Rows<>(Table.ENDPOINTS, before.endpoints(), changes);
        regions = new Rows<>(Table.REGIONS, before.regions(), changes);
        spaces = new Rows<>(Table.SPACES, before.spaces(), changes);
        extents = new Rows<>(Table.EXTENTS, before.extents(), changes);
        releases = new Rows<>(Table.RELEASES, before.releases(), changes);
        attachments = new Rows<>(Table.ATTACHMENTS, before.attachments(), changes);
        fences = new Rows<>(Table.FENCES, before.fences(), changes);
        drains = new Rows<>(Table.DRAINS, before.drains(), changes);
    }

    long newId() {
        changes.add(new Change(Table.COUNTERS, NEXT_ID, Optional.of(Long.toString(nextId + 1))));
        return nextId++;
    }

    /** Tells of an event and gives its index. */
    private long emit(Event event) {
        index = event.index();
        events.add(event);
        changes.add(new Change(Table.COUNTERS, INDEX, Optional.of(Long.toString(index))));
        return index;
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

    static ProblemException unknownNode(String id) {
        return ProblemException.notFound("node '%s' is not registered".formatted(id));
    }

    static ProblemException stale(String id, Incarnation given, Incarnation registered) {
        return ProblemException.conflict(
                "stale-incarnation",
                "incarnation %s of node '%s' is not the one registered now, %s".formatted(given, id, registered));
    }

    List<Change> changes() {
        return changes;
    }

    List<Event> events() {
        return events;
    }

    State finished() {
        return new State(
                index,
                nextId,
                cluster.finished(),
                nodes.finished(),
                retired.finished(),
                endpoints.finished(),
                regions.finished(),
                spaces.finished(),
                extents.finished(),
                releases.finished(),
                attachments.finished(),
                fences.finished(),
                drains.finished());
    }
}
