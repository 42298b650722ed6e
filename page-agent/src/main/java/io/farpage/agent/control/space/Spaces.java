package io.farpage.agent.control.space;

import io.farpage.agent.control.ControlThread;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.client.CoordinatorUnreachableException;
import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.Attached;
import io.farpage.coordinator.model.Epoch;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.NodeReport;
import io.farpage.coordinator.model.Presence;
import io.farpage.coordinator.model.SnapshotRequest;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceExtents;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The spaces that this agent is attached to, by id. Requests name a space by name or id; a name is resolved once, and
 * all state is kept under the id, which is never given to another space. The agent attaches before it learns where
 * pages live, and detaches only when none of its transfers can reach them, so it never writes to frames that were given
 * to another space.
 *
 * <p>The coordinator lists what this node needs for its spaces in one document, as of a revision, and one thread
 * applies each document in one order: uses end whose space was deleted or taken over; maps are replaced; keys are used.
 * Then the thread has drops acknowledged that are settled, homes promoted, and spaces detached that nothing uses. It
 * waits for no request. Thread-safe.
 */
public final class Spaces implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(Spaces.class);
    private static final Duration REFRESH = Duration.ofSeconds(30);
    /** While a key is missing. Its publication is an event, so this matters only if that is lost. */
    private static final Duration AWAIT_KEYS = Duration.ofSeconds(1);

    /** How often the thread looks for spaces that nothing uses. */
    private static final Duration TICK = Duration.ofSeconds(5);

    /** How long a space stays attached without a use. A drain of its homes waits for every node that is attached. */
    static final Duration IDLE = Duration.ofSeconds(10);

    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(10);

    private final SpaceRequests requests;
    private final LongSupplier clock;
    private final Attachments attachments;
    private final ControlThread thread;
    private final Drops drops;
    private final AtomicInteger changes = new AtomicInteger(1);
    /** The last change for which a document is requested at once. */
    private final AtomicInteger urgent = new AtomicInteger(1);
    /** When the last change came for which a document may be requested later. */
    private volatile long laterAt;
    /** What the thread does with a document that has arrived. */
    private final AtomicReference<Optional<Runnable>> arrived = new AtomicReference<>(Optional.empty());

    private volatile Keys keys = (_, _) -> true;
    private volatile Set<Long> pulled = Set.of();

    // The rest belongs to the thread.
    private final Errands errands;
    private Attached document = Attached.NOTHING;
    private Optional<Epoch> epoch = Optional.empty();
    private boolean hasAllKeys = true;
    private int answered;
    private long readAt;

    /** The keys with which this node reaches its spaces in the pools of their homes. */
    public interface Keys {
        /**
         * Uses the keys that a document has, and none of what this node is not attached to and does not pull. Must not
         * wait.
         *
         * @param spaces that this node was attached to when the document was asked for, as it knows them
         * @return whether no key is missing
         */
        boolean follow(Attached document, List<SpaceExtents> spaces);

        /**
         * Stops using keys of what the homes of a space no longer have, before the pagers see its extents: a home may
         * get the same room for it again, with other keys. Must not wait.
         */
        default void restrict(SpaceExtents space) {}

        /**
         * Stops using the keys of a space from which this node was detached: its homes have revoked them, also if the
         * node attaches again before the next document. Must not wait.
         */
        default void forget(long space) {}
    }

    public Spaces(CoordinatorClient coordinator, String node, Incarnation incarnation) {
        this(
                new SpaceRequests(coordinator, node, incarnation),
                System::nanoTime,
                request -> Thread.ofVirtual().name("space-request").start(request));
    }

    /**
     * @param clock as {@link System#nanoTime}
     * @param beside runs requests that the thread does not wait for
     */
    Spaces(SpaceRequests requests, LongSupplier clock, Executor beside) {
        this.requests = requests;
        this.clock = clock;
        thread = new ControlThread(
                "spaces", new ControlThread.Pauses(Duration.ZERO, Errands.RETRY, CLOSE_TIMEOUT), this::step);
        errands = new Errands(beside, clock, thread::wake);
        attachments = new Attachments(requests, clock, new Changed(), space -> keys.forget(space));
        drops = new Drops(requests, attachments::find, thread::wake, this::refresh, now -> keys.restrict(now));
    }

    /**
     * Starts to follow the coordinator.
     *
     * @param used the keys of this agent's spaces
     */
    public void start(Keys used) {
        follow(used);
        thread.start();
    }

    /** As {@link #start}; the test is the thread. */
    void follow(Keys used) {
        keys = used;
    }

    /** Drops homes that do not take WRITEs from the spaces of this agent's guests. */
    public Drops drops() {
        return drops;
    }

    Allocations allocations() {
        return drops.allocations();
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
        OptionalLong attached = resolveAttached(nameOrId);
        if (attached.isPresent()) {
            return attached;
        }
        Optional<Space> known = requests.space(nameOrId);
        return known.isPresent() ? OptionalLong.of(known.get().id()) : OptionalLong.empty();
    }

    /** The id of a space of a name that this node is attached to. */
    public OptionalLong resolveAttached(String name) {
        return attachments.all().stream()
                .filter(space -> space.name().equals(name) && !space.isLeaving())
                .mapToLong(AttachedSpace::id)
                .findFirst();
    }

    /** A space by id or name, as the coordinator describes it now; empty if there is none. */
    public Optional<Space> find(String nameOrId) throws CoordinatorException {
        return requests.space(nameOrId);
    }

    /** All spaces of the cluster, as the coordinator describes them now. */
    public List<Space> all() throws CoordinatorException {
        return requests.spaces();
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
        Optional<AttachedSpace> known = attachments.find(id);
        if (known.filter(AttachedSpace::enter).isEmpty()) {
            if (known.isEmpty() || known.get().isUnused()) {
                known = attachments.share(id).filter(AttachedSpace::enter);
            } else if (known.get().isExclusive()) {
                throw Attachments.inUse(known.get());
            } else {
                return Optional.empty();
            }
        }
        return known.isPresent() ? begun(known.get()) : Optional.empty();
    }

    /** A use that has begun of a space, and that of its snapshot if it is a clone. Empty if that is being deleted. */
    private Optional<SpaceUse> begun(AttachedSpace space) throws CoordinatorException {
        OptionalLong base = space.extents().space().base();
        Optional<SpaceUse> snapshot = Optional.empty();
        boolean done = false;
        try {
            snapshot = base.isPresent() ? use(base.getAsLong()) : Optional.empty();
            done = base.isEmpty() || snapshot.isPresent();
        } finally {
            if (!done) {
                space.exit();
            }
        }
        return done ? Optional.of(new SpaceUse(space, this, snapshot)) : Optional.empty();
    }

    /**
     * Starts to use a space exclusively in the cluster.
     *
     * @return what to close after use; empty if there is no such space, or it is being deleted
     * @throws SpaceInUseException if it is in use on this node
     * @throws CoordinatorException also if another node is attached to it
     */
    public Optional<SpaceUse> useExclusively(long id, Claim claim) throws CoordinatorException {
        Optional<AttachedSpace> entered = attachments.enterExclusively(id, claim);
        return entered.isPresent() ? begun(entered.get()) : Optional.empty();
    }

    /**
     * Makes a clone of a snapshot, and begins the exclusive use of it, in one request to the coordinator.
     *
     * @return what to close after use; empty if the snapshot is being deleted
     * @throws CoordinatorException also if there is a space of that name
     */
    public Optional<SpaceUse> useNewClone(String snapshot, String name) throws CoordinatorException {
        return begun(attachments.enterClone(snapshot, name));
    }

    /**
     * As {@link #useExclusively}. If the space is coherent, this node uses it as a member beside others, and has no
     * other use of it; what is said of an exclusive use holds for this one.
     */
    public Optional<SpaceUse> useForGuest(long id, Claim claim) throws CoordinatorException {
        Optional<AttachedSpace> entered = attachments.enterForGuest(id, claim);
        return entered.isPresent() ? begun(entered.get()) : Optional.empty();
    }

    /**
     * Continues the use with a guest that an earlier process of this node has left.
     *
     * @param mode exclusive, or as a member
     * @param earlier its incarnation
     * @return what to close after use; empty if the space no longer exists
     * @throws CoordinatorException also if the attachment has ended, or has not passed to this incarnation yet; nothing
     *     has changed then
     */
    public Optional<SpaceUse> adopt(long id, AttachMode mode, Incarnation earlier) throws CoordinatorException {
        long attachment = attachments.succeed(id, mode, earlier);
        Optional<SpaceExtents> extents = attachments.extents(id);
        if (extents.isEmpty()) {
            return Optional.empty();
        }
        OptionalLong base = extents.get().space().base();
        // Before the exclusive use begins, which must not end before the guest does.
        Optional<SpaceUse> snapshot = base.isPresent() ? use(base.getAsLong()) : Optional.empty();
        return base.isPresent() && snapshot.isEmpty()
                ? Optional.empty()
                : Optional.of(new SpaceUse(attachments.adopt(extents.get(), attachment), this, snapshot));
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
        for (AttachedSpace space : attachments.all()) {
            known.add(space.extents());
            held.add(new NodeReport.Held(space.id(), space.mode(), space.tornByUse(), space.isUnused()));
        }
        return new Held(known, held);
    }

    /** Detaches from a space when its last use ends. Any thread. */
    public void detachWhenUnused(long id) {
        attachments.find(id).ifPresent(AttachedSpace::leave);
        thread.wake();
    }

    /** Something of a space may have changed. Any thread. */
    public void changed(long id) {
        if (attachments.find(id).isPresent() || pulled.contains(id)) {
            refresh();
        }
    }

    /** What this node needs for its spaces may have changed. Any thread. */
    public void refresh() {
        change();
    }

    private int change() {
        int count = changes.incrementAndGet();
        urgent.accumulateAndGet(count, Math::max);
        thread.wake();
        return count;
    }

    private final class Changed implements Attachments.Changes {
        @Override
        public int change() {
            return Spaces.this.change();
        }

        @Override
        public int changeLater() {
            laterAt = clock.getAsLong();
            return changes.incrementAndGet();
        }
    }

    /** The mark of the presence map of a space that this node uses beside others. That of a snapshot never changes. */
    Optional<String> presence(AttachedSpace space) throws CoordinatorException {
        Space known = space.extents().space();
        Optional<Space> now =
                known.snapshot().isPresent() ? Optional.of(known) : requests.space(Long.toString(space.id()));
        return now.flatMap(Space::presence).flatMap(Presence::mark);
    }

    void write(AttachedSpace space) throws CoordinatorException {
        attachments.write(space);
    }

    Space makeSnapshot(AttachedSpace space, String name, String key, int attempt, Optional<String> mark)
            throws CoordinatorException {
        return requests.makeSnapshot(space.id(), new SnapshotRequest(requests.incarnation(), name, key, attempt, mark));
    }

    /** Reads where the pages of a space live, and hands that to its pagers. */
    void readExtents(AttachedSpace space) throws CoordinatorException {
        requests.extents(space.id()).ifPresent(now -> drops.use(space, now));
        refresh();
    }

    void useEnded() {
        thread.wake();
    }

    /** What the thread does when it was woken. Returns how long to pause. */
    Duration step() {
        drops.drop(errands);
        arrived.getAndSet(Optional.empty()).ifPresent(Runnable::run);
        if (isDue()) {
            ask();
        }
        drops.settle(errands);
        detachUnused();
        Duration left = Duration.ofNanos(readAt - clock.getAsLong()).plus(validity());
        return errands.pause(isDue() || left.compareTo(TICK) > 0 ? TICK : left);
    }

    private Duration validity() {
        return hasAllKeys ? REFRESH : AWAIT_KEYS;
    }

    private boolean isDue() {
        return answered < urgent.get()
                || (answered != changes.get() && clock.getAsLong() - laterAt >= TICK.toNanos())
                || clock.getAsLong() - readAt >= validity().toNanos()
                // Such a space stays attached while the coordinator is away: it may be used again.
                || attachments.all().stream().anyMatch(space -> space.isIdle(IDLE));
    }

    /** Asks for a document: for all of it, if a key is missing. One that was overtaken is asked for again. */
    private void ask() {
        int asking = changes.get();
        Attached last = document;
        Optional<Epoch> before = epoch;
        long since = hasAllKeys ? last.mark() : 0;
        errands.begin("document", () -> {
            Attached read = requests.attached(since);
            Optional<Epoch> now = requests.epoch();
            if (read.revision() < last.revision() && before.isPresent() && before.equals(now)) {
                throw new CoordinatorUnreachableException(
                        "the answer was overtaken by one of revision " + last.revision());
            }
            arrived.set(Optional.of(() -> {
                document = read;
                epoch = now;
                answered = asking;
                readAt = clock.getAsLong();
                apply(since == 0);
            }));
        });
    }

    private void apply(boolean isWhole) {
        Map<Long, Attached.Held> listed = document.spaces().stream()
                .filter(held -> held.attachment().incarnation().equals(requests.incarnation()))
                .collect(Collectors.toMap(held -> held.attachment().space(), held -> held));
        for (AttachedSpace space : attachments.all()) {
            if (!space.isLaterThan(answered)) {
                revoke(space, Optional.ofNullable(listed.get(space.id())));
            }
        }
        attachments.all().forEach(space -> space.leaveIfIdle(IDLE));
        listed.forEach((id, held) ->
                attachments.find(id).ifPresent(space -> held.extents().ifPresent(now -> update(space, now))));
        pulled = document.pulls().stream().map(Attached.Pull::space).collect(Collectors.toSet());
        hasAllKeys = keys.follow(
                document,
                attachments.all().stream()
                        .filter(space -> !space.isLaterThan(answered))
                        .map(AttachedSpace::extents)
                        .toList());
        if (!hasAllKeys && !isWhole) {
            change(); // the key may have been left out
        }
        listed.values().stream()
                .filter(attachments::isOrphan)
                .forEach(held -> begin("orphan", held.attachment().space(), () -> attachments.giveUp(held)));
    }

    private void begin(String what, long space, Errands.Request request) {
        errands.begin("%s of space %d".formatted(what, space), request);
    }

    /** Ends the use of a space that is deleted or was taken over. */
    private void revoke(AttachedSpace space, Optional<Attached.Held> listed) {
        if (listed.isEmpty()) {
            begin("attachment", space.id(), () -> attachments.confirm(space));
        } else if (listed.get().extents().filter(now -> now.space().deleting()).isPresent()) {
            space.revoke(AttachedSpace.DELETED);
        } else if (listed.get().cutOff()) {
            attachments.revokeTakenOver(space);
        } else if (!space.isMemberBy(listed.get().attachment().id())) {
            attachments.revokeForgotten(space);
        }
    }

    /**
     * Takes over what the coordinator says of a space now. Shared uses end if this node may attach it no longer; a
     * guest keeps its memory.
     */
    private void update(AttachedSpace space, SpaceExtents now) {
        if (drops.use(space, now) && !now.space().mayAttach(requests.node()) && !space.isExclusive()) {
            space.leave();
        }
    }

    private void detachUnused() {
        for (AttachedSpace space : attachments.all()) {
            if (space.isUnused()) {
                begin("detachment", space.id(), () -> attachments.detach(space));
            }
        }
    }

    /**
     * Detaches from all spaces. Call it when no transfer of this agent can be under way. If the coordinator does not
     * accept a detachment, the homes cut this node off once it is deregistered.
     */
    public void detachAll() {
        close();
        try {
            for (AttachedSpace space : List.copyOf(attachments.all())) {
                attachments.detach(space);
            }
        } catch (CoordinatorException e) {
            log.warn("not detached from all spaces: {}", e.getMessage());
        }
    }

    /** Stops following the coordinator. */
    @Override
    public void close() {
        thread.close();
    }
}
