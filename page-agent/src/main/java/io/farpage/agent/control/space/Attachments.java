package io.farpage.agent.control.space;

import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.client.CoordinatorRefusedException;
import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.Attached;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.Detachment;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.NewAttachment;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceExtents;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongConsumer;
import java.util.function.LongSupplier;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Attaches this node to spaces and detaches it. Requests that attach or detach one space run one after the other; those
 * of different spaces do not wait for each other. Thread-safe.
 */
final class Attachments {
    private static final Logger log = LoggerFactory.getLogger(Attachments.class);

    /** The type of the problem with which the coordinator answers a node whose space another node has taken over. */
    private static final String TAKEN_OVER = "taken-over";

    /** The type of the problem with which the coordinator answers that another node is attached exclusively. */
    private static final String ATTACHED = "attached";

    /** The type of the problem with which the coordinator answers that a space has members. */
    private static final String COHERENT = "coherent";

    private static final int GATES = 64;

    /** Counts the changes after which a document that was requested before may be out of date. */
    interface Changes {
        /** Counts one. A document is requested at once. */
        int change();

        /** Counts one. A document is requested with the next change that needs one, or when it is due anyway. */
        int changeLater();
    }

    private final SpaceRequests requests;
    private final LongSupplier clock;
    private final Map<Long, AttachedSpace> attached = new ConcurrentHashMap<>();

    /** Spaces to which the coordinator may have attached this node although their map was never read. */
    private final Set<Long> orphans = ConcurrentHashMap.newKeySet();

    /** Names of clones that the coordinator may have made for this node, and attached it to, as above. */
    private final Set<String> orphanClones = ConcurrentHashMap.newKeySet();

    /** By the remainder of the id. */
    private final List<Object> gates = Stream.generate(Object::new).limit(GATES).toList();

    /** For clones that are being made, by the remainder of the name's hash. Entered before a gate of an id. */
    private final List<Object> cloneGates =
            Stream.generate(Object::new).limit(GATES).toList();

    private final Changes changes;
    private final LongConsumer detached;

    /**
     * @param clock as {@link System#nanoTime}
     * @param changes notified when a document that was requested before may be out of date
     * @param detached called with each space from which this node was detached, before the node attaches to it again
     */
    Attachments(SpaceRequests requests, LongSupplier clock, Changes changes, LongConsumer detached) {
        this.requests = requests;
        this.clock = clock;
        this.changes = changes;
        this.detached = detached;
    }

    Collection<AttachedSpace> all() {
        return attached.values();
    }

    Optional<AttachedSpace> find(long id) {
        return Optional.ofNullable(attached.get(id));
    }

    private Object gate(long id) {
        return gates.get((int) (id % GATES));
    }

    private Object cloneGate(String name) {
        return cloneGates.get(Math.floorMod(name.hashCode(), GATES));
    }

    /** Attaches beside other nodes, unless this node is attached. Empty if there is no such space. */
    Optional<AttachedSpace> share(long id) throws CoordinatorException {
        synchronized (gate(id)) {
            Optional<AttachedSpace> known = known(id);
            if (known.isPresent()) {
                return known;
            }
            Optional<AttachedSpace> fresh = attach(id, AttachMode.SHARED, Claim.PLAIN);
            fresh.ifPresent(this::put);
            return fresh;
        }
    }

    /**
     * Begins an exclusive use. Empty if there is no such space.
     *
     * @throws SpaceInUseException if it is in use on this node
     */
    Optional<AttachedSpace> enterExclusively(long id, Claim claim) throws CoordinatorException {
        return enter(id, claim, () -> attach(id, AttachMode.EXCLUSIVE, claim));
    }

    /**
     * As {@link #enterExclusively}; of a coherent space the only use on this node, which is a member of it beside
     * others.
     */
    Optional<AttachedSpace> enterForGuest(long id, Claim claim) throws CoordinatorException {
        return enter(id, claim, () -> {
            try {
                return attach(id, AttachMode.EXCLUSIVE, claim);
            } catch (CoordinatorRefusedException e) {
                if (!e.problem().is(COHERENT)) {
                    throw e;
                }
                return attach(id, AttachMode.MEMBER, claim);
            }
        });
    }

    /**
     * Makes a clone of a snapshot, and begins the exclusive use of it.
     *
     * @throws SpaceInUseException if another use of this node has begun since it was made
     */
    AttachedSpace enterClone(String snapshot, String name) throws CoordinatorException {
        synchronized (cloneGate(name)) {
            // Removed once the clone is held, or was certainly not made.
            orphanClones.add(name);
            try {
                NewAttachment made = requests.attachClone(snapshot, name);
                return beginUse(made);
            } catch (CoordinatorRefusedException e) {
                orphanClones.remove(name);
                throw e;
            } catch (CoordinatorException e) {
                var _ = changes.change();
                throw e;
            }
        }
    }

    private AttachedSpace beginUse(NewAttachment made) {
        synchronized (gate(made.space())) {
            Optional<AttachedSpace> other = find(made.space());
            if (other.isPresent()) {
                throw inUse(other.get());
            }
            AttachedSpace space = attachedTo(made.extents().orElseThrow(), made.presence());
            space.attachedBy(made.id());
            return putExclusively(space);
        }
    }

    /** Attaches to a space that this node is not attached to. */
    private interface Attaching {
        Optional<AttachedSpace> attach() throws CoordinatorException;
    }

    private Optional<AttachedSpace> enter(long id, Claim claim, Attaching fresh) throws CoordinatorException {
        synchronized (gate(id)) {
            Optional<AttachedSpace> known = known(id);
            return known.isPresent()
                    ? upgrade(known.get(), claim)
                    : fresh.attach().map(this::putExclusively);
        }
    }

    /**
     * Passes the attachment of an earlier process of this node to this one. Nothing happens if that was done before.
     *
     * @return the id of the attachment
     */
    long succeed(long id, AttachMode mode, Incarnation earlier) throws CoordinatorException {
        synchronized (gate(id)) {
            return requests.adopt(id, mode, earlier).id();
        }
    }

    /** Where the pages of a space live; empty if there is no such space. */
    Optional<SpaceExtents> extents(long id) throws CoordinatorException {
        return requests.extents(id);
    }

    /** Begins the use that the attachment of an earlier process was for, which has passed to this one. */
    AttachedSpace adopt(SpaceExtents extents, long attachment) {
        synchronized (gate(extents.space().id())) {
            AttachedSpace space = attachedTo(extents, Optional.empty());
            space.attachedBy(attachment);
            return putExclusively(space);
        }
    }

    /** Turns a shared attachment into an exclusive one: first on this node, then at the coordinator. */
    private Optional<AttachedSpace> upgrade(AttachedSpace space, Claim claim) throws CoordinatorException {
        if (!space.enterExclusively()) {
            throw inUse(space);
        }
        boolean done = false;
        try {
            space.presence(
                    requests.attach(space.id(), AttachMode.EXCLUSIVE, claim).presence());
            done = true;
            return Optional.of(space);
        } catch (CoordinatorRefusedException e) {
            if (e.isNotFound()) {
                space.leave();
                return Optional.empty();
            }
            throw e;
        } catch (CoordinatorException e) {
            // The attachment may be exclusive now: the space is detached, and the next use attaches again.
            space.leave();
            throw e;
        } finally {
            if (!done) {
                space.exit();
            }
            var _ = changes.change();
        }
    }

    /** Why a use of a space cannot begin beside another one. */
    static SpaceInUseException inUse(AttachedSpace space) {
        return new SpaceInUseException((space.isExclusive()
                        ? "space '%s' (id %d) is the memory of a guest on this node, or an image is loaded into"
                                + " it; end that first"
                        : "space '%s' (id %d) is in use on this node; try again when that use has ended")
                .formatted(space.name(), space.id()));
    }

    /** The attached space; one that has no use and must be detached is detached first. */
    private Optional<AttachedSpace> known(long id) throws CoordinatorException {
        Optional<AttachedSpace> space = find(id);
        if (space.filter(AttachedSpace::isUnused).isPresent()) {
            detach(space.get());
            return Optional.empty();
        }
        return space;
    }

    /** Attaches to a space and reads its extents. */
    private Optional<AttachedSpace> attach(long id, AttachMode mode, Claim claim) throws CoordinatorException {
        // Removed once the space is held: a failure, even of an answer that does not arrive, leaves no attachment
        // behind.
        orphans.add(id);
        Optional<AttachedSpace> space = Optional.empty();
        try {
            NewAttachment made = requests.attachAndRead(id, mode, claim);
            Optional<SpaceExtents> extents = made.extents().isPresent() ? made.extents() : requests.extents(id);
            space = extents.map(now -> attachedTo(now, made.presence()));
            space.ifPresent(now -> now.attachedBy(made.id()));
            return space;
        } catch (CoordinatorRefusedException e) {
            if (e.isNotFound()) {
                return Optional.empty();
            }
            throw e;
        } finally {
            if (space.isEmpty()) {
                var _ = changes.change();
            }
        }
    }

    /**
     * A document that was requested before now does not count for the space. The next one has the keys of its homes. A
     * clone has no homes when its guest begins, and the answer to the attachment had all that a document would have.
     */
    private AttachedSpace attachedTo(SpaceExtents extents, Optional<String> presence) {
        boolean hasHomes = extents.extents().stream().anyMatch(Extent::isAllocated);
        return new AttachedSpace(extents, presence, clock, hasHomes ? changes.change() : changes.changeLater());
    }

    /** Says that this node writes to a space that it is attached to, before it does. */
    void write(AttachedSpace space) throws CoordinatorException {
        Space now = space.extents().space();
        if (space.writes() || (now.presence().isEmpty() && now.snapshot().isEmpty())) {
            return;
        }
        synchronized (gate(space.id())) {
            if (!space.writes() && !space.isExclusive()) {
                requests.attachToWrite(space.id());
            }
            space.writing();
        }
    }

    private void put(AttachedSpace space) {
        attached.put(space.id(), space);
        orphanClones.remove(space.name());
        orphans.remove(space.id());
    }

    /** Marks a space as in use before another thread can find it. */
    private AttachedSpace putExclusively(AttachedSpace space) {
        space.enterExclusively();
        put(space);
        return space;
    }

    /**
     * Attaches once more: a coordinator that lost its store has lost the attachment, too. It refuses that if the space
     * is gone or was taken over; then the use ends. No home cuts this node off from a space that has none, a clone or a
     * thin one, so another attachment to it means that it was taken over.
     */
    void confirm(AttachedSpace space) throws CoordinatorException {
        synchronized (gate(space.id())) {
            if (!find(space.id()).equals(Optional.of(space)) || space.isLeaving()) {
                return;
            }
            try {
                if (!space.isExclusive() && space.writes()) {
                    requests.attachToWrite(space.id());
                } else {
                    Attachment now = requests.attach(space.id(), space.mode(), Claim.PLAIN);
                    if (!space.isMemberBy(now.id())) {
                        revokeForgotten(space);
                    }
                    // Another node may have written while the coordinator did not know of this attachment.
                    space.presence(
                            space.presence().filter(mark -> now.presence().equals(Optional.of(mark))));
                }
            } catch (CoordinatorRefusedException e) {
                boolean hasHomes = space.extents().extents().stream().anyMatch(Extent::isAllocated);
                if (e.problem().is(TAKEN_OVER) || (!hasHomes && e.problem().is(ATTACHED))) {
                    revokeTakenOver(space);
                } else if (requests.extents(space.id())
                        .filter(now -> !now.space().deleting())
                        .isEmpty()) {
                    space.revoke(AttachedSpace.DELETED);
                    // Its frames may be those of another space by now, also in the pool of this node.
                    space.lose();
                } else {
                    throw e;
                }
            }
        }
    }

    /** Ends the use of a member that its homes no longer know: they have given its pages to other members. */
    void revokeForgotten(AttachedSpace space) {
        if (space.revoke("the coordinator has lost its attachment, and homes no longer count it as a member")) {
            log.error(
                    "the coordinator has lost attachment {} of this member of space {} (id {}), and with it the homes",
                    space.attachment(),
                    space.name(),
                    space.id());
        }
    }

    /** Ends the use of a space that another node has taken over. */
    void revokeTakenOver(AttachedSpace space) {
        if (space.revoke("another node took its space over")) {
            log.error(
                    "space {} (id {}) was taken over from incarnation {} of this node, whose lease had run out",
                    space.name(),
                    space.id(),
                    requests.incarnation());
        }
    }

    /** Detaches from a space that nothing uses. */
    void detach(AttachedSpace space) throws CoordinatorException {
        synchronized (gate(space.id())) {
            if (!find(space.id()).equals(Optional.of(space))) {
                return; // another thread has attached to it again
            }
            requests.detach(space.id(), new Detachment(space.torn(), space.seal(), space.presence(), space.isLoaded()));
            space.onDetached();
            attached.remove(space.id(), space);
            detached.accept(space.id());
            var _ = changes.change();
            log.info("detached from space {} (id {})", space.name(), space.id());
        }
    }

    /** Whether this agent has asked for the attachment to a space, and does not hold the space. */
    boolean isOrphan(Attached.Held held) {
        long id = held.attachment().space();
        if (held.extents()
                .filter(now -> orphanClones.contains(now.space().name()))
                .isPresent()) {
            orphans.add(id); // a later document may leave the name out
        }
        return orphans.contains(id);
    }

    /**
     * Detaches from a space that this agent does not hold. If it has attached to the space meanwhile, the document that
     * listed it was applied before: it is requested again.
     */
    void giveUp(Attached.Held held) throws CoordinatorException {
        Optional<String> name = held.extents().map(now -> now.space().name());
        synchronized (cloneGate(name.orElse(""))) {
            giveUp(held.attachment().space());
        }
    }

    private void giveUp(long id) throws CoordinatorException {
        synchronized (gate(id)) {
            if (attached.containsKey(id)) {
                // A document that listed a clone by its name may have been looked at while the space was put.
                orphans.remove(id);
                var _ = changes.change();
            } else {
                requests.detach(id, Detachment.PLAIN);
            }
        }
    }
}
