package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.Creation;
import io.farpage.coordinator.model.Encryption;
import io.farpage.coordinator.model.EventKind;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.PageInfo;
import io.farpage.coordinator.model.Presence;
import io.farpage.coordinator.model.RemoteAddress;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceExtents;
import io.farpage.coordinator.model.SpaceNodes;
import io.farpage.coordinator.model.SpaceReplicas;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.rest.Json;
import io.farpage.rest.ProblemException;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/** Spaces, their extents, and the room that they take in the nodes' pools. Thread-safe. */
public final class Spaces {

    private final Ledger ledger;
    private final Time time;
    private final Heat heat;
    private final Options options;

    /**
     * How new spaces are made.
     *
     * @param divides whether they are divided into extents that can move one by one
     * @param overcommit per cent of the pools that may be in use or promised to thin spaces
     */
    public record Options(boolean divides, int overcommit) {}

    /** Works on a ledger. */
    public Spaces(Ledger ledger, Time time, Heat heat, Options options) {
        this.ledger = ledger;
        this.time = time;
        this.heat = heat;
        this.options = options;
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
        return state.space(idOrName).orElseThrow(() -> State.missing(state.nextId(), idOrName));
    }

    /** Where the pages of a space live. */
    public SpaceExtents extents(String idOrName) {
        Ledger.Moment now = ledger.moment();
        Space space = require(now.state(), idOrName);
        return new SpaceExtents(space, now.revision(), now.state().extentsOf(space));
    }

    /** Makes a space with all its extents, or nothing. */
    public Space create(SpaceRequest request) {
        return create(request, false, Optional.empty());
    }

    /**
     * The same. While the space of an earlier request with the same key exists, a repeat of that request changes
     * nothing.
     *
     * @param presence whether the space gets a {@link Presence presence map}, if there is room for it, too
     * @param key drawn by the client for this request; empty if the client does not repeat it
     */
    public Space create(SpaceRequest request, boolean presence, Optional<String> key) {
        Optional<Creation> creation =
                key.map(one -> new Creation(one, Digest.of(Json.STRICT.writeValueAsBytes(request))));
        return ledger.change(draft -> {
            Optional<Space> earlier = creation.flatMap(now -> madeBefore(draft, now));
            if (earlier.isPresent()) {
                return earlier.get();
            }
            if (request.isLoading()) {
                endUnattended(draft, request.name());
            }
            checkName(draft, request.name());
            request.vmmState().ifPresent(file -> Snapshots.checkVmmState(draft, file));
            int pageSize = request.pageSize().orElse(4096);
            int copies = request.replicas().orElse(1);
            long pages = request.sizeBytes() / pageSize;
            Optional<Presence> map =
                    presence && !request.isCoherent() ? Optional.of(Presence.of(pages, pageSize)) : Optional.empty();
            Made made = extents(draft, request, map);
            Promises.check(draft, request.isThin(), made.pages() * pageSize * copies, options.overcommit());
            Bounds.checkNewSpace(draft, made.extents().size());
            long id = draft.newId();
            Bounds.checkAllowed(draft, id, request.nodes().map(List::size).orElse(0));
            Space space = new Space(
                            id, request.name(), request.sizeBytes(), pageSize, ExtentState.OK, time.now(), false)
                    .withEncryption(request.keyId().map(Encryption::new))
                    .withNodes(request.nodes())
                    .withReplicas(copies)
                    .withCreation(creation)
                    .withPresence(map.filter(_ -> made.pages() > pages));
            if (request.isThin()) {
                space = space.withThin();
            }
            if (request.isCoherent()) {
                space = space.withCoherent();
            }
            if (request.isLoading()) {
                space = space.withLoading(request.vmmState());
            }
            draft.spaces.put(Keys.id(id), space);
            draft.extents.create(space, made.extents());
            draft.emit(EventKind.SPACE_CREATED, Optional.empty(), space);
            return space;
        });
    }

    /**
     * The extents of a new space.
     *
     * @param pages of all of them
     */
    private record Made(List<Extent> extents, long pages) {
        static Made of(List<Extent> extents) {
            return new Made(extents, extents.stream().mapToLong(Extent::count).sum());
        }
    }

    /** Extents with the presence map behind the guest's pages, or without it if there is no room for both. */
    private Made extents(Draft draft, SpaceRequest request, Optional<Presence> map) {
        int pageSize = request.pageSize().orElse(4096);
        int copies = request.replicas().orElse(1);
        long pages = request.sizeBytes() / pageSize;
        List<FreeSpace> rooms = rooms(draft, request);
        // No extent of a coherent space moves while it is used, and each costs its home a directory.
        int extentsOfGroup = options.divides() && !request.isCoherent() ? Bounds.extentsOfGroup(draft) : 1;
        Placement placement = new Placement(rooms, copies, pageSize, extentsOfGroup);
        checkDomains(placement.domains(), copies);
        if (request.isThin()) {
            long behind = map.map(Presence::pages).orElse(0L);
            return Made.of(Placement.unallocated(pages, behind, Bounds.extentsOfThin(draft), List.of()));
        }
        return Made.of(map.flatMap(one -> placement.place(pages + one.pages(), draft.groups(copies)))
                .or(() -> placement.place(pages, draft.groups(copies)))
                .orElseThrow(() -> noRoom(rooms, request.sizeBytes(), pageSize, copies)));
    }

    /** Deletes a space whose loader has failed before it attached the space. */
    private static void endUnattended(Draft draft, String name) {
        draft.findSpace(name)
                .filter(space -> space.isLoading() && draft.attachedTo(space).isEmpty())
                .ifPresent(space -> {
                    Attachments.beginDeletion(draft, space, false);
                    Deletion.finish(draft, space);
                });
    }

    static void checkName(Draft draft, String name) {
        if (draft.spaces.values().stream().anyMatch(space -> space.name().equals(name))) {
            throw ProblemException.conflict(
                    "name-taken", "a space named '%s' exists; choose another name or delete it".formatted(name));
        }
    }

    /** The space that a request has made already, if it exists. */
    static Optional<Space> madeBefore(Draft draft, Creation now) {
        Optional<Space> known = draft.spaces.values().stream()
                .filter(space -> space.creation().map(Creation::key).equals(Optional.of(now.key())))
                .findFirst();
        known.filter(space -> !space.creation().equals(Optional.of(now))).ifPresent(space -> {
            throw new ProblemException(
                    422,
                    "key-reused",
                    ("Idempotency-Key: '%s' is of the request that made space '%s', and this request is another one;"
                                    + " draw a new key")
                            .formatted(now.key(), space.name()));
        });
        return known;
    }

    /**
     * Says which nodes may attach a space from now on, if the list has not changed since it was read. A node that is
     * attached stays so until it detaches. If the list is already the wanted one, that is a success: an earlier
     * request, whose answer was lost, may have made the change.
     *
     * @param ifMatch names the tag of the list that was read; empty to replace any list
     */
    public Space allow(String idOrName, SpaceNodes nodes, Optional<String> ifMatch) {
        return ledger.change(draft -> {
            Space before = draft.requireSpace(idOrName);
            if (before.nodes().equals(nodes.nodes())) {
                return before;
            }
            if (!ifMatch.map(tags -> NodesTag.matches(tags, before)).orElse(true)) {
                throw new ProblemException(
                        412,
                        "nodes-changed",
                        "If-Match: %s is not the tag of the list that space '%s' has now, %s; read the list again"
                                .formatted(ifMatch.orElseThrow(), before.name(), NodesTag.of(before)));
            }
            Bounds.checkAllowed(
                    draft, before.id(), nodes.nodes().map(List::size).orElse(0));
            Space after = before.withNodes(nodes.nodes());
            draft.spaces.put(Keys.id(after.id()), after);
            draft.emit(EventKind.SPACE_ALLOWED, Optional.empty(), after);
            return after;
        });
    }

    /** The guest of a node was parked, or no longer is. Its agent keeps that; the cluster learns of it by an event. */
    public void guestParked(long space, String node, boolean isParked) {
        EventKind kind = isParked ? EventKind.GUEST_PARKED : EventKind.GUEST_UNPARKED;
        ledger.change(draft ->
                draft.emitSoft(kind, Optional.of(node), Optional.empty(), draft.requireSpace(Long.toString(space))));
    }

    /**
     * Gives each extent of a space more homes from now on. Repair chooses them, and they pull the pages, also while a
     * guest runs.
     */
    public Space replicate(String idOrName, SpaceReplicas request) {
        return ledger.change(draft -> {
            Space before = draft.requireSpace(idOrName);
            int more = request.replicas() - before.copies();
            if (before.deleting()) {
                throw ProblemException.notFound("space '%s' is being deleted".formatted(before.name()));
            }
            if (more < 0) {
                throw ProblemException.conflict(
                        "fewer-replicas",
                        ("replicas: %d, but each page of space '%s' has %d homes, and none is taken away; load its"
                                        + " image into a space that has fewer")
                                .formatted(request.replicas(), before.name(), before.copies()));
            }
            if (more == 0) {
                return before;
            }
            Coherence.checkReplicas(before, request.replicas());
            checkDomains(
                    (int) rooms(draft).stream()
                            .map(FreeSpace::node)
                            .filter(node -> node.pool().exportedBytes() > 0)
                            .map(Node::failureDomain)
                            .distinct()
                            .count(),
                    request.replicas());
            Promises.check(
                    draft, before.isThin(), before.storedPages() * before.pageSize() * more, options.overcommit());
            Space after = before.withReplicas(request.replicas());
            draft.spaces.put(Keys.id(after.id()), after);
            return after;
        });
    }

    private static List<FreeSpace> rooms(Draft draft, SpaceRequest request) {
        return request.homes().isPresent()
                ? request.homes().get().stream()
                        .map(id -> FreeSpace.of(requireActive(draft, id), draft))
                        .toList()
                : rooms(draft);
    }

    private static List<FreeSpace> rooms(Draft draft) {
        return draft.nodes.values().stream()
                .filter(node -> node.status() == NodeStatus.ACTIVE && !draft.isDraining(node.id()))
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
        if (draft.isDraining(id)) {
            throw new ProblemException(
                    422,
                    "home-draining",
                    "homes: node '%s' is being drained; choose another, or cancel that: coordinator drain %s --cancel"
                            .formatted(id, id));
        }
        return node;
    }

    private static void checkDomains(int domains, int copies) {
        if (copies > 1 && domains < copies) {
            throw new ProblemException(
                    422,
                    "too-few-domains",
                    ("replicas: %d homes for each page need %d nodes in different failure domains (node.domain), and"
                                    + " there are %d; add a node, or ask for fewer replicas")
                            .formatted(copies, copies, domains));
        }
    }

    private static ProblemException noRoom(List<FreeSpace> rooms, long sizeBytes, int pageSize, int copies) {
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
                "%d bytes in pages of %d do not fit%s; free: %s; add a node, export more, or delete a space"
                        .formatted(
                                sizeBytes,
                                pageSize,
                                copies == 1 ? "" : " " + copies + " times in different failure domains",
                                free));
    }

    /**
     * Deletes a space once no node is attached to it. Its frames stay allocated until its homes have zeroed it.
     *
     * @param force whether to delete it under a guest that runs, whose pages are then lost
     */
    public void delete(String idOrName, boolean force) {
        Space deleted = ledger.change(draft -> {
            Space space = draft.requireSpace(idOrName);
            Snapshots.checkNoClones(draft, space);
            Attachments.beginDeletion(draft, space, force);
            Deletion.finish(draft, space.withDeleting());
            return space;
        });
        heat.forget(deleted.id());
    }

    /**
     * A node has zeroed ranges, which are free from now on. A range that an incarnation may write to that the node has
     * to cut off first is not: that fence is newer than what the node had read.
     */
    static void acknowledge(Draft draft, String node, List<Long> zeroed) {
        for (long id : zeroed) {
            String key = Keys.release(node, id);
            draft.releases
                    .find(key)
                    .filter(release -> !Fences.holds(draft, node, release.space()))
                    .ifPresent(_ -> draft.releases.remove(key));
        }
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
        Extent extent = Snapshots.reading(state, space, page)
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
}
