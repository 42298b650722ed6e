package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.Encryption;
import io.farpage.coordinator.model.EventKind;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.PageInfo;
import io.farpage.coordinator.model.Release;
import io.farpage.coordinator.model.ReleaseAck;
import io.farpage.coordinator.model.RemoteAddress;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.rest.ProblemException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/** Spaces, their extents, and the room that they take in the nodes' pools. Thread-safe. */
public final class Spaces {

    private final Ledger ledger;
    private final Time time;
    private final Heat heat;

    /** Works on a ledger. */
    public Spaces(Ledger ledger, Time time, Heat heat) {
        this.ledger = ledger;
        this.time = time;
        this.heat = heat;
    }

    static String releaseKey(String node, long id) {
        return node + "/" + State.idKey(id);
    }

    /** All spaces. */
    public List<Space> all() {
        return List.copyOf(ledger.state().spaces().values());
    }

    /** A space by id or name. */
    public Space require(String idOrName) {
        return require(ledger.state(), idOrName);
    }

    static Space require(State state, String idOrName) {
        return state.space(idOrName)
                .orElseThrow(() -> ProblemException.notFound("there is no space '%s'".formatted(idOrName)));
    }

    /** Where the pages of a space live. */
    public SpaceExtents extents(String idOrName) {
        State state = ledger.state();
        Space space = require(state, idOrName);
        return new SpaceExtents(space, state.index(), state.extentsOf(space));
    }

    /** Makes a space with all its extents, or nothing. */
    public Space create(SpaceRequest request) {
        return ledger.change(draft -> {
            if (draft.spaces.values().stream().anyMatch(space -> space.name().equals(request.name()))) {
                throw ProblemException.conflict(
                        "name-taken",
                        "a space named '%s' exists; choose another name or delete it".formatted(request.name()));
            }
            int pageSize = request.pageSize().orElse(4096);
            List<FreeSpace> rooms = rooms(draft, request);
            List<Extent> extents = allocate(rooms, request.sizeBytes(), pageSize);
            Bounds.checkNewSpace(draft, extents.size());
            long id = draft.newId();
            Space space = new Space(
                            id, request.name(), request.sizeBytes(), pageSize, ExtentState.OK, time.now(), false)
                    .withEncryption(request.keyId().map(Encryption::new));
            draft.spaces.put(State.idKey(id), space);
            draft.extents.put(State.idKey(id), new State.Extents(extents));
            draft.emit(EventKind.SPACE_CREATED, Optional.empty(), space);
            return space;
        });
    }

    private static List<FreeSpace> rooms(Draft draft, SpaceRequest request) {
        if (request.homes().isPresent()) {
            return request.homes().get().stream()
                    .map(id -> FreeSpace.of(requireActive(draft, id), draft))
                    .toList();
        }
        return draft.nodes.values().stream()
                .filter(node -> node.status() == NodeStatus.ACTIVE)
                .map(node -> FreeSpace.of(node, draft))
                .sorted(Comparator.comparingLong(FreeSpace::freeBytes)
                        .reversed()
                        .thenComparing(room -> room.node().id()))
                .toList();
    }

    private static Node requireActive(Draft draft, String id) {
        Node node = draft.nodes
                .find(id)
                .orElseThrow(() ->
                        new ProblemException(422, "unknown-home", "homes: node '%s' is not registered".formatted(id)));
        if (node.status() != NodeStatus.ACTIVE) {
            throw new ProblemException(
                    422, "home-not-active", "homes: node '%s' is %s, not active".formatted(id, node.status()));
        }
        return node;
    }

    private static List<Extent> allocate(List<FreeSpace> rooms, long sizeBytes, int pageSize) {
        List<Extent> extents = new ArrayList<>();
        long pages = sizeBytes / pageSize;
        long next = 0;
        for (FreeSpace room : rooms) {
            for (FreeSpace.Gap gap : room.gaps(pageSize)) {
                if (next == pages) {
                    return extents;
                }
                long count = Math.min(pages - next, gap.length() / pageSize);
                ExtentHome home = new ExtentHome(room.node().id(), room.node().incarnation(), gap.offset());
                extents.add(new Extent(next, count, List.of(home), ExtentState.OK));
                next += count;
            }
        }
        if (next < pages) {
            throw noRoom(rooms, sizeBytes, pageSize);
        }
        return extents;
    }

    private static ProblemException noRoom(List<FreeSpace> rooms, long sizeBytes, int pageSize) {
        String free = rooms.isEmpty()
                ? "no node is active"
                : rooms.stream()
                        .map(room -> room.node().id() + " has "
                                + room.gaps(pageSize).stream()
                                        .mapToLong(FreeSpace.Gap::length)
                                        .sum())
                        .collect(Collectors.joining(", "));
        return new ProblemException(
                507,
                "no-room",
                "%d bytes in pages of %d do not fit; free: %s; add a node, export more, or delete a space"
                        .formatted(sizeBytes, pageSize, free));
    }

    /**
     * Deletes a space once no node is attached to it. Its frames stay allocated until its homes have zeroed it.
     *
     * @param force whether to delete it under a guest that runs, whose pages are then lost
     */
    public void delete(String idOrName, boolean force) {
        Space deleted = ledger.change(draft -> {
            Space space = require(ledger.state(), idOrName);
            draft.spaces.put(State.idKey(space.id()), space.withDeleting());
            if (!space.deleting() || force) {
                Attachments.beginDeletion(draft, space.withDeleting(), force);
            }
            finishDeletion(draft, space.withDeleting());
            return space;
        });
        heat.forget(deleted.id());
    }

    /** Removes a space that is being deleted if no node is attached to it. */
    static void finishDeletion(Draft draft, Space space) {
        String key = State.idKey(space.id());
        boolean deleting = draft.spaces.find(key).filter(Space::deleting).isPresent();
        if (!deleting || !Attachments.of(draft, space).isEmpty()) {
            return;
        }
        Set<String> homes = new LinkedHashSet<>();
        for (Extent extent : draft.extents.find(key).map(State.Extents::list).orElse(List.of())) {
            homes.addAll(release(draft, space, extent));
        }
        draft.spaces.remove(key);
        draft.extents.remove(key);
        draft.emit(EventKind.SPACE_DELETED, Optional.empty(), space);
        homes.forEach(home -> draft.emit(EventKind.RELEASES_PENDING, home));
    }

    private static List<String> release(Draft draft, Space space, Extent extent) {
        if (extent.state() == ExtentState.LOST) {
            return List.of();
        }
        List<String> nodes = new ArrayList<>();
        for (ExtentHome home : extent.homes()) {
            Optional<Node> node = draft.nodes
                    .find(home.node())
                    .filter(known -> known.incarnation().equals(home.incarnation()));
            if (node.isPresent()) {
                long id = draft.newId();
                long length = extent.count() * space.pageSize();
                draft.releases.put(
                        releaseKey(home.node(), id),
                        new Release(id, space.id(), home.incarnation(), home.offset(), length));
                nodes.add(home.node());
            }
        }
        return nodes;
    }

    /** What a node has to zero. */
    public List<Release> releases(String node) {
        Draft view = new Draft(ledger.state());
        view.requireNode(node);
        return List.copyOf(view.releases.under(node + "/"));
    }

    /** Frees what a node has zeroed; ids that are not pending do no harm. */
    public void acknowledge(String node, ReleaseAck ack) {
        ledger.change(draft -> {
            draft.requireNode(node, ack.incarnation());
            return ack.ids().stream()
                    .filter(id -> id >= 0 && draft.releases.remove(releaseKey(node, id)))
                    .count();
        });
    }

    /** Where the page is that has a byte. */
    public PageInfo page(String idOrName, long gpa) {
        State state = ledger.state();
        Space space = require(state, idOrName);
        if (gpa < 0 || gpa >= space.sizeBytes()) {
            throw ProblemException.notFound("address 0x%x is beyond the %d bytes of space '%s'"
                    .formatted(gpa, space.sizeBytes(), space.name()));
        }
        long page = gpa / space.pageSize();
        Extent extent = state.extentsOf(space).stream()
                .filter(candidate -> candidate.contains(page))
                .findFirst()
                .orElseThrow(() -> new IllegalStateException("space " + space + " has no extent for page " + page));
        long within = (page - extent.firstPage()) * space.pageSize();
        List<ExtentHome> homes = extent.homes().stream()
                .map(home -> new ExtentHome(home.node(), home.incarnation(), home.offset() + within))
                .toList();
        return new PageInfo(
                space.id(),
                new RemoteAddress(page * space.pageSize()),
                page,
                homes,
                extent.state(),
                heat.of(space.id(), page));
    }

    /** Free bytes of a node's exported pool. */
    public long freeBytes(Node node) {
        return FreeSpace.of(node, ledger.state()).freeBytes();
    }
}
