package io.farpage.agent.control.space;

import io.farpage.agent.control.ControlThread;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.client.CoordinatorRefusedException;
import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.NodeReport;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceExtents;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The spaces that this agent is attached to, by id. Requests name a space by name or id; a name is resolved once, and
 * all state is kept under the id, which is never given to another space. The agent attaches before it learns where
 * pages live, and detaches only when none of its transfers can reach them, so it never writes to frames that were given
 * to another space. Thread-safe.
 */
public final class Spaces implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(Spaces.class);
    private static final Duration REFRESH = Duration.ofSeconds(5);

    /** How long a space stays attached without a use. A drain of its homes waits for every node that is attached. */
    static final Duration IDLE = Duration.ofSeconds(10);

    /** The type of the problem with which the coordinator answers a node whose space another node has taken over. */
    private static final String TAKEN_OVER = "taken-over";

    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(10);

    private final CoordinatorClient coordinator;
    private final String node;
    private final SpaceRequests requests;
    private final LongSupplier clock;
    private final Map<Long, AttachedSpace> attached = new ConcurrentHashMap<>();

    /** Spaces to which the coordinator may have attached this node although their map was never read. */
    private final Set<Long> orphans = ConcurrentHashMap.newKeySet();

    private final ControlThread thread =
            new ControlThread("spaces", new ControlThread.Pauses(REFRESH, REFRESH, CLOSE_TIMEOUT), this::refresh);
    private final Drops drops;
    private volatile boolean stale;
    private volatile Runnable changed = () -> {};

    public Spaces(CoordinatorClient coordinator, String node, Incarnation incarnation) {
        this(coordinator, node, incarnation, System::nanoTime);
    }

    /** @param clock as {@link System#nanoTime} */
    Spaces(CoordinatorClient coordinator, String node, Incarnation incarnation, LongSupplier clock) {
        this.clock = clock;
        this.coordinator = coordinator;
        this.node = node;
        requests = new SpaceRequests(coordinator, node, incarnation);
        drops = new Drops(coordinator, node, incarnation, attached::get);
    }

    public void start() {
        thread.start();
        drops.start();
    }

    /** Drops homes that do not take WRITEs from the spaces of this agent's guests. */
    public Drops drops() {
        return drops;
    }

    /**
     * The id of a space. Works without the coordinator for an id, and for the name of a space that is attached.
     *
     * @return empty if there is no space of that name
     */
    public OptionalLong resolve(String nameOrId) throws CoordinatorException {
        OptionalLong id = Space.idOf(nameOrId);
        if (id.isPresent()) {
            return id;
        }
        for (AttachedSpace space : attached.values()) {
            if (space.name().equals(nameOrId) && !space.isLeaving()) {
                return OptionalLong.of(space.id());
            }
        }
        Optional<Space> known = coordinator.space(nameOrId);
        return known.isPresent() ? OptionalLong.of(known.get().id()) : OptionalLong.empty();
    }

    /**
     * Starts to use a space, and attaches to it first if necessary. Works without the coordinator for a space that is
     * attached already.
     *
     * @return what to close after use; empty if there is no such space, or it is being deleted
     * @throws SpaceInUseException if it is used exclusively
     */
    public Optional<SpaceUse> use(String nameOrId) throws CoordinatorException {
        OptionalLong id = resolve(nameOrId);
        return id.isPresent() ? use(id.getAsLong()) : Optional.empty();
    }

    /** As {@link #use(String)}, by id. */
    public Optional<SpaceUse> use(long id) throws CoordinatorException {
        AttachedSpace known = attached.get(id);
        if (known != null && known.enter()) {
            return Optional.of(new SpaceUse(known, this));
        }
        if (known == null || known.isUnused()) {
            Optional<AttachedSpace> fresh = attachShared(id);
            if (fresh.isEmpty()) {
                return Optional.empty();
            }
            known = fresh.get();
            if (known.enter()) {
                return Optional.of(new SpaceUse(known, this));
            }
        }
        if (known.isExclusive()) {
            throw new SpaceInUseException("space '%s' (id %d) is the memory of a guest on this node; end that first"
                    .formatted(known.name(), id));
        }
        return Optional.empty();
    }

    private synchronized Optional<AttachedSpace> attachShared(long id) throws CoordinatorException {
        Optional<AttachedSpace> known = known(id);
        if (known.isPresent()) {
            return known;
        }
        Optional<AttachedSpace> fresh = attach(id, AttachMode.SHARED, Claim.PLAIN);
        fresh.ifPresent(this::put);
        return fresh;
    }

    /**
     * Starts to use a space exclusively in the cluster.
     *
     * @return what to close after use; empty if there is no such space, or it is being deleted
     * @throws SpaceInUseException if it is in use on this node
     * @throws CoordinatorException also if another node is attached to it
     */
    public synchronized Optional<SpaceUse> useExclusively(long id, Claim claim) throws CoordinatorException {
        Optional<AttachedSpace> known = known(id);
        if (known.isPresent()) {
            return upgrade(known.get(), claim);
        }
        Optional<AttachedSpace> fresh = attach(id, AttachMode.EXCLUSIVE, claim);
        if (fresh.isEmpty()) {
            return Optional.empty();
        }
        // Marked as in use before another thread can find the space.
        fresh.get().enterExclusively();
        put(fresh.get());
        return Optional.of(new SpaceUse(fresh.get(), this));
    }

    /**
     * Continues the exclusive use that an earlier process of this node has left.
     *
     * @param earlier its incarnation
     * @return what to close after use; empty if there is no such space any more
     * @throws CoordinatorException also if the attachment has ended, or has not passed to this incarnation yet; nothing
     *     has changed then
     */
    public synchronized Optional<SpaceUse> adopt(long id, Incarnation earlier) throws CoordinatorException {
        requests.adopt(id, earlier);
        Optional<AttachedSpace> adopted = requests.extents(id).map(this::attachedTo);
        adopted.ifPresent(space -> {
            space.enterExclusively();
            put(space);
        });
        return adopted.map(space -> new SpaceUse(space, this));
    }

    private AttachedSpace attachedTo(SpaceExtents extents) {
        return new AttachedSpace(extents, clock);
    }

    private void put(AttachedSpace space) {
        attached.put(space.id(), space);
        changed.run();
    }

    /** Has a task run whenever this agent has attached to a space or detached from one. It must not wait. */
    public void onChange(Runnable task) {
        changed = task;
    }

    /** Turns a shared attachment into an exclusive one: first on this node, then at the coordinator. */
    private Optional<SpaceUse> upgrade(AttachedSpace space, Claim claim) throws CoordinatorException {
        if (!space.enterExclusively()) {
            throw new SpaceInUseException("space '%s' (id %d) is in use on this node; try again when that use has ended"
                    .formatted(space.name(), space.id()));
        }
        boolean done = false;
        try {
            requests.attach(space.id(), AttachMode.EXCLUSIVE, claim);
            done = true;
            return Optional.of(new SpaceUse(space, this));
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
                thread.wake();
            }
        }
    }

    /** The attached space; one without a use that is to be detached is detached first. */
    private Optional<AttachedSpace> known(long id) throws CoordinatorException {
        AttachedSpace space = attached.get(id);
        if (space != null && space.isUnused()) {
            detach(space);
            return Optional.empty();
        }
        return Optional.ofNullable(space);
    }

    /** Attaches to a space and reads its extents. If that fails, it detaches again. */
    private Optional<AttachedSpace> attach(long id, AttachMode mode, Claim claim) throws CoordinatorException {
        // Removed once the map is known: a failure, even of an answer that does not arrive, leaves no attachment
        // behind.
        orphans.add(id);
        try {
            requests.attach(id, mode, claim);
            Optional<AttachedSpace> space = requests.extents(id).map(this::attachedTo);
            if (space.isPresent()) {
                orphans.remove(id);
            }
            return space;
        } catch (CoordinatorRefusedException e) {
            if (e.isNotFound()) {
                return Optional.empty();
            }
            throw e;
        } finally {
            thread.wake();
        }
    }

    /**
     * The spaces that this agent is attached to.
     *
     * @param spaces each with all its extents
     * @param attachments how this agent is attached
     */
    public record Held(List<SpaceExtents> spaces, List<NodeReport.Held> attachments) {
        /** Copies the lists. */
        public Held {
            spaces = List.copyOf(spaces);
            attachments = List.copyOf(attachments);
        }
    }

    /** The spaces that are attached now. Any thread. */
    public Held held() {
        List<SpaceExtents> known = new ArrayList<>();
        List<NodeReport.Held> held = new ArrayList<>();
        for (AttachedSpace space : attached.values()) {
            known.add(space.extents());
            Optional<String> torn = space.tornByUse();
            // A space that an exclusive use has torn stays attached exclusively until it is detached.
            AttachMode mode = space.isExclusive() || torn.isPresent() ? AttachMode.EXCLUSIVE : AttachMode.SHARED;
            held.add(new NodeReport.Held(space.id(), mode, torn));
        }
        return new Held(known, held);
    }

    /** Detaches from a space when its last use ends. Any thread. */
    public void detachWhenUnused(long id) {
        AttachedSpace space = attached.get(id);
        if (space != null) {
            space.leave();
            thread.wake();
        }
    }

    /**
     * A space is deleted: detaches from it when its last use ends. An exclusive use loses all its pages. Any thread.
     */
    public void deleted(long id) {
        AttachedSpace space = attached.get(id);
        if (space != null) {
            space.revoke(AttachedSpace.DELETED);
            thread.wake();
        }
    }

    /** The extents of a space, or the nodes that may attach it, have changed. Any thread. */
    public void changed(long id) {
        AttachedSpace space = attached.get(id);
        if (space != null) {
            space.stale();
            thread.wake();
        }
    }

    /** Events were missed: the extents of all spaces have to be read again. Any thread. */
    public void resync() {
        stale = true;
        thread.wake();
    }

    void useEnded() {
        thread.wake();
    }

    private Duration refresh() throws CoordinatorException {
        try {
            update();
            return REFRESH;
        } catch (CoordinatorException | RuntimeException e) {
            stale = true;
            throw e;
        }
    }

    /** The step of the thread. Package-private for tests. */
    void update() throws CoordinatorException {
        if (stale) {
            stale = false;
            for (AttachedSpace space : List.copyOf(attached.values())) {
                update(space);
            }
        }
        for (AttachedSpace space : List.copyOf(attached.values())) {
            if (space.clearStale()) {
                requests.extents(space.id()).ifPresent(now -> refresh(space, now));
            }
            space.leaveIfIdle(IDLE);
            if (space.isUnused()) {
                detach(space);
            }
        }
        for (long id : List.copyOf(orphans)) {
            detachOrphan(id);
        }
    }

    /**
     * Takes over what the coordinator says of a space now. Shared uses end if this node may attach it no longer; a
     * guest keeps its memory.
     */
    private void refresh(AttachedSpace space, SpaceExtents now) {
        space.update(now);
        if (!now.space().mayAttach(node) && !space.isExclusive()) {
            space.leave();
        }
    }

    /** Confirms an attachment. No use can become exclusive meanwhile. */
    private synchronized void update(AttachedSpace space) throws CoordinatorException {
        Optional<SpaceExtents> now = requests.extents(space.id());
        if (now.isEmpty() || now.get().space().deleting()) {
            space.revoke(AttachedSpace.DELETED);
            return;
        }
        refresh(space, now.get());
        if (!space.isLeaving()) {
            confirm(space);
        }
    }

    /**
     * Attaches once more: a coordinator that lost its store has lost the attachment, too. Ends the use of a space that
     * was taken over.
     */
    private void confirm(AttachedSpace space) throws CoordinatorException {
        try {
            AttachMode mode = space.isExclusive() ? AttachMode.EXCLUSIVE : AttachMode.SHARED;
            requests.attach(space.id(), mode, Claim.PLAIN);
        } catch (CoordinatorRefusedException e) {
            if (!e.problem().is(TAKEN_OVER)) {
                throw e;
            }
            log.error(
                    "space {} (id {}): {}",
                    space.name(),
                    space.id(),
                    e.problem().detail());
            space.revoke("another node took its space over");
        }
    }

    private synchronized void detach(AttachedSpace space) throws CoordinatorException {
        if (attached.get(space.id()) != space) {
            return; // another thread has attached to it again
        }
        requests.detach(space.id(), space.torn(), space.seal());
        attached.remove(space.id(), space);
        changed.run();
        log.info("detached from space {} (id {})", space.name(), space.id());
    }

    private synchronized void detachOrphan(long id) throws CoordinatorException {
        if (!attached.containsKey(id)) {
            requests.detach(id, Optional.empty(), Optional.empty());
        }
        orphans.remove(id);
    }

    /**
     * Detaches from all spaces. Call it when no transfer of this agent can be under way any more. If the coordinator
     * does not accept a detachment, the homes cut this node off once it is deregistered.
     */
    public void detachAll() {
        close();
        try {
            for (AttachedSpace space : List.copyOf(attached.values())) {
                detach(space);
            }
        } catch (CoordinatorException e) {
            log.warn("not detached from all spaces: {}", e.getMessage());
        }
    }

    /** Stops updating. */
    @Override
    public void close() {
        drops.close();
        thread.close();
    }
}
