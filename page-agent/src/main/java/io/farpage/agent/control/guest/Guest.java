package io.farpage.agent.control.guest;

import io.farpage.agent.control.latency.LatencySeries;
import io.farpage.agent.control.pins.PinStatus;
import io.farpage.agent.control.seal.SealException;
import io.farpage.agent.control.space.SpaceUse;
import io.farpage.agent.control.trace.TracedPager;
import io.farpage.agent.data.pager.PagerEnd;
import io.farpage.agent.data.pager.PagerStatus;
import io.farpage.agent.data.pager.home.SpaceMap;
import io.farpage.agent.data.pager.page.PresenceMap;
import io.farpage.coordinator.model.CopyReport;
import io.farpage.coordinator.model.HeatReport;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One guest from its attachment to its end. A thread of its own waits for the VMM, has its handoff checked and its
 * memory served, and probes regularly whether the VMM still exists. A faulty or hostile VMM affects its own guest
 * alone.
 */
final class Guest {
    private static final Logger log = LoggerFactory.getLogger(Guest.class);
    static final Duration PROBE_INTERVAL = Duration.ofMillis(200);
    static final Duration HEAT_INTERVAL = Duration.ofSeconds(5);
    private static final Duration LEAVE_TIMEOUT = Duration.ofMinutes(10);
    private static final Duration LEAVE_PAUSE = Duration.ofSeconds(1);
    private static final Duration STOP_TIMEOUT = Duration.ofSeconds(5);

    private enum State {
        WAITING,
        /** A handoff has arrived and is being checked. */
        CHECKING,
        ATTACHED,
        ENDED;

        String word() {
            return this == CHECKING ? WAITING.word() : name().toLowerCase(Locale.ROOT);
        }
    }

    private final SpaceUse use;
    private final HandoffSocket socket;
    private final Admission admission;
    private final Listener listener;
    private final IdleWatch idle;
    private final LongSupplier clock;
    private final Thread thread;
    private final RefusalLog refusals = new RefusalLog();
    private final RequestedMap map = new RequestedMap();

    /** Written under the lock, so that a guest is either detached or admits a handoff. */
    private volatile State state = State.WAITING;

    private volatile String detail = "";
    private volatile @Nullable Paging paging;
    /** The last status of a paging that has ended, which is kept instead of its histograms. */
    private volatile @Nullable Snapshot last;

    private volatile boolean stopping;
    /** The guest's thread only. */
    private boolean cutOff;
    /** Which pages the homes have, once the guest has ended and that is known. The guest's thread only. */
    private @Nullable PresenceMap presence;

    /** Whether an interruption ends the wait for the VMM, and disturbs nothing else. Guarded by this. */
    private boolean interruptible;

    /** Decides on a handoff. */
    @FunctionalInterface
    interface Admission extends AutoCloseable {
        /** Asks the homes for what an earlier guest has left, before a handoff is admitted. */
        default void prepare() throws InterruptedException {}

        /**
         * Checks a handoff and makes the pagers of the memory. The descriptors of the message are closed if that fails.
         *
         * @throws HandoffException saying what is wrong with the handoff
         */
        Paging admit(HandoffConnection.Message message) throws HandoffException;

        /** The memory that an earlier process has served, if there is such; then no handoff is awaited. */
        default Optional<Paging> adopted() {
            return Optional.empty();
        }

        /**
         * Saves the tags of an encrypted space, which its next guest needs. Call it after the last page is sealed.
         *
         * @return what names it; empty if nothing has changed, or the space is not encrypted
         * @throws SealException if it cannot be written; the call may be repeated
         */
        default Optional<String> leave() throws SealException {
            return Optional.empty();
        }

        /** Wipes the keys of an encrypted space. */
        @Override
        default void close() {}
    }

    /** Receives the events of a guest, on its thread. */
    interface Listener {
        /** How warm its pages are. */
        void heat(SpaceMap map, HeatReport heat);

        /** It has ended, and the homes have these pages. The use is exclusive, and nothing else writes. */
        void left(SpaceUse use, PresenceMap map);

        /** A process has handed memory over; the reason why it is refused, if it is. */
        default void handoff(SpaceMap map, HandoffPeer peer, Optional<String> refusal) {}

        /** It was parked because it was idle. */
        default void parked(SpaceMap map) {}

        /** Its faults have ended parking. */
        default void unparked(SpaceMap map) {}

        /** The VMM or the agent has ended it. */
        default void ended(SpaceMap map, PagerEnd end) {}

        /** Its space is no longer used. */
        void released(SpaceMap map);
    }

    /**
     * Makes a guest that can wait for its VMM, or has one that an earlier process has served.
     *
     * @param use of the space, exclusive; closed at the end
     * @param socket on which the VMM hands its memory over; closed at the end
     * @param parkAfter how long the guest has to be idle to be parked; zero: it never is
     * @param clock monotonic nanoseconds
     */
    Guest(
            SpaceUse use,
            HandoffSocket socket,
            Admission admission,
            Listener listener,
            Duration parkAfter,
            LongSupplier clock) {
        this.use = use;
        this.socket = socket;
        this.admission = admission;
        this.listener = listener;
        idle = new IdleWatch(parkAfter);
        this.clock = clock;
        // Its VMM runs already: it is not one that waits, even before its thread does.
        admission.adopted().ifPresent(memory -> {
            paging = memory;
            state = State.ATTACHED;
        });
        thread = Thread.ofPlatform().daemon().name("guest-" + use.map().name()).unstarted(this::run);
    }

    void start() {
        thread.start();
    }

    String space() {
        return use.map().name();
    }

    long spaceId() {
        return use.map().id();
    }

    /** The whole life of the guest: what its thread runs. */
    void run() {
        try {
            Paging adopted = paging;
            Paging served = adopted != null ? adopted : awaitHandoff();
            socket.stopListening();
            if (served == null) {
                detail = use.revocation().orElse("detached") + " before a VMM came";
                return;
            }
            paging = served;
            setState(State.ATTACHED);
            served.start();
            PagerEnd end = awaitEnd(served);
            listener.ended(use.map(), end);
            detail = end.reason() + (end.saved() ? "" : "; what its memory held is not at its homes");
            if (!end.saved()) {
                tear(end.reason());
            }
            log.info("space {}: {}", space(), detail);
            PresenceMap homes = presence;
            if (homes != null) {
                listener.left(use, homes);
            }
        } catch (RuntimeException e) {
            detail = e.toString();
            tear("serving its guest failed: " + e);
            log.error("space {}: serving its guest failed, and the guest is ended", space(), e);
        } finally {
            socket.close();
            release();
            setState(State.ENDED);
        }
    }

    /** Marks the space as torn, if pages of it may have been written to their homes while others were not. */
    private void tear(String reason) {
        Paging ended = paging;
        if (ended != null && ended.isEvictable()) {
            use.tear(reason);
        }
    }

    /**
     * Ends the use of the space, unless transfers may be under way: then it stays attached until the shards have
     * stopped.
     */
    private void release() {
        Paging ended = paging;
        if (ended != null && !ended.hasEnded()) {
            log.warn("space {} (id {}) stays attached until this agent ends", space(), spaceId());
            return;
        }
        if (ended != null) {
            last = Snapshot.of(ended).unparked();
            paging = null;
            // A successor of a process that is killed before adopts the guest, whose VMM has ended, and detaches.
            use.whenDetached(ended::forget);
        }
        leave();
        admission.close();
        use.close();
        listener.released(use.map());
    }

    /** Keeps the tags of an encrypted space. Without them its pages are lost, so a disk that is full is waited for. */
    private void leave() {
        long began = clock.getAsLong();
        while (true) {
            try {
                admission.leave().ifPresent(use::seal);
                return;
            } catch (SealException e) {
                log.error("space {}: the tags of its pages are not kept: {}", space(), e.getMessage());
                if (stopping || clock.getAsLong() - began > LEAVE_TIMEOUT.toNanos()) {
                    detail = "the tags of its pages are not kept, and its pages are lost: " + e.getMessage();
                    use.tear(detail);
                    return;
                }
            }
            LockSupport.parkNanos(LEAVE_PAUSE.toNanos());
        }
    }

    /** Accepts connections until one brings a proper handoff; null if the guest must be detached before. */
    private @Nullable Paging awaitHandoff() {
        use.whenRevoked(socket::wakeUp);
        prepare();
        while (!stopping && !use.isRevoked()) {
            Optional<HandoffConnection> next = socket.next();
            if (next.isEmpty()) {
                continue;
            }
            try (HandoffConnection connection = next.get()) {
                try {
                    if (!beginCheck()) {
                        throw new HandoffException(
                                use.revocation().orElse("the guest was detached") + " before its VMM came");
                    }
                    Paging admitted = admit(connection);
                    connection.taken();
                    detail = "";
                    listener.handoff(use.map(), connection.peer(), Optional.empty());
                    return admitted;
                } catch (HandoffException e) {
                    setState(State.WAITING);
                    detail = e.getMessage() == null ? "" : e.getMessage();
                    refusals.refused(space(), socket.path(), detail);
                    listener.handoff(use.map(), connection.peer(), Optional.of(detail));
                    connection.refuse(detail);
                }
            }
        }
        return null;
    }

    /** A guest that takes more native memory than the JVM permits is refused, and the agent continues. */
    private Paging admit(HandoffConnection connection) throws HandoffException {
        try {
            return admission.admit(connection.message());
        } catch (OutOfMemoryError e) {
            throw new HandoffException(
                    ("this agent has no native memory for the guest: %s; end another guest, lower link.max or"
                                    + " shard.count, or raise -XX:MaxDirectMemorySize (FARPAGE_JAVA_OPTS)")
                            .formatted(e.getMessage()));
        }
    }

    private void prepare() {
        try {
            setInterruptible(true);
            if (!stopping) {
                admission.prepare();
            }
        } catch (InterruptedException e) {
            // The guest was requested to stop.
        } finally {
            setInterruptible(false);
        }
    }

    private synchronized void setState(State next) {
        state = next;
    }

    /** Begins to check a handoff; false if the guest must be detached. */
    private synchronized boolean beginCheck() {
        if (stopping || use.isRevoked()) {
            return false;
        }
        state = State.CHECKING;
        return true;
    }

    /** Waits for the pagers to end, and has them probe regularly whether the VMM still exists. */
    private PagerEnd awaitEnd(Paging served) {
        long heatReported = clock.getAsLong();
        try {
            setInterruptible(true);
            while (!stopping) {
                try {
                    PagerEnd end = served.await(PROBE_INTERVAL);
                    // Memory without a file is never written home: the homes have what they had.
                    presence = end.saved() || !served.isEvictable()
                            ? served.presence().orElse(null)
                            : null;
                    return end;
                } catch (TimeoutException e) {
                    served.probe();
                    cutOffIfRevoked(served);
                    map.makeIfRequested(served::map);
                    if (served.unparkIfWoken()) {
                        listener.unparked(use.map());
                    }
                    if (clock.getAsLong() - heatReported > HEAT_INTERVAL.toNanos()) {
                        heatReported = clock.getAsLong();
                        reportHeat(served.heat());
                        served.giveRoomBack(use);
                        parkIfIdle(served);
                    }
                }
            }
        } catch (InterruptedException e) {
            // The guest was requested to stop.
        } catch (IllegalStateException e) {
            if (!stopping || !(e.getCause() instanceof InterruptedException)) {
                throw e;
            }
            // The stop request arrived while this thread waits for a shard.
        } finally {
            setInterruptible(false);
            served.close();
        }
        return new PagerEnd("the agent is shutting down while its VMM runs; the VMM will stall", false);
    }

    /** An empty report would change nothing at the coordinator, so an idle guest sends none. */
    private void reportHeat(HeatReport heat) {
        if (!heat.ranges().isEmpty()) {
            listener.heat(use.map(), heat);
        }
    }

    private void parkIfIdle(Paging served) {
        boolean isIdle = idle.observe(clock.getAsLong(), served.faults(), served.processorTime());
        if (!isIdle || !served.isEvictable() || served.parked().isPresent()) {
            return;
        }
        try {
            GuestParking.park(this, GuestParking.KEEP_BYTES, false);
            listener.parked(use.map());
        } catch (GuestException e) {
            log.warn("space {}: its guest is idle and is not parked: {}", space(), e.getMessage());
        }
    }

    /**
     * Lets requestStop interrupt this thread, or ends that: an interruption that has come is over, and no other will
     * come.
     */
    private synchronized void setInterruptible(boolean value) {
        interruptible = value;
        Thread.interrupted();
    }

    /** If the use was revoked and no transfer of the guest can reach the homes, lets the homes reuse its frames. */
    private void cutOffIfRevoked(Paging served) throws InterruptedException {
        if (!cutOff && use.isRevoked() && served.isCutOff()) {
            cutOff = true;
            detail = use.revocation().orElseThrow() + "; the pages that are not resident are lost";
            log.warn("space {} (id {}) of process {}: {}", space(), spaceId(), served.pid(), detail);
            use.cutOff();
        }
    }

    /** Whether the VMM runs. */
    boolean isAttached() {
        return state == State.ATTACHED;
    }

    /** Stops waiting for a handoff; false if one has come, and the VMM may run. */
    synchronized boolean stopWaiting() {
        if (state == State.CHECKING || state == State.ATTACHED) {
            return false;
        }
        stopping = true;
        return true;
    }

    /** Process id of the VMM; 0 before it has come. */
    int pid() {
        Paging now = paging;
        return now == null ? 0 : now.pid();
    }

    /** Whether another process can go on with it when this one has ended. */
    boolean isKept() {
        Paging now = paging;
        return isAttached() && now != null && now.isKept();
    }

    boolean hasEnded() {
        return state == State.ENDED;
    }

    /** Asks the guest to end, even if its VMM runs. */
    void requestStop() {
        stopping = true;
        socket.wakeUp();
        synchronized (this) {
            if (interruptible) {
                thread.interrupt();
            }
        }
    }

    /** Ends the guest, and waits for that. */
    void stop() {
        requestStop();
        try {
            if (!thread.join(STOP_TIMEOUT)) {
                log.warn("{} did not stop within {}", thread.getName(), STOP_TIMEOUT);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** @throws IllegalArgumentException if that is too few pages */
    void resize(int localPages) {
        Paging now = paging;
        if (now != null) {
            now.resize(localPages);
        }
    }

    /** The fewest pages that may stay resident while it is parked; 0 before its VMM has come. */
    long leastParkedPages() {
        Paging now = paging;
        return now == null ? 0 : now.leastParkedPages();
    }

    /** @throws TimeoutException if a shard does not answer */
    void park(int keepPages) throws TimeoutException {
        Paging now = paging;
        if (now != null) {
            now.park(keepPages);
        }
    }

    /** That it is parked; empty if it is not, or no VMM has it. */
    Optional<Parked> parked() {
        Paging now = paging;
        return now == null ? Optional.empty() : now.parked();
    }

    /** Where its pages are; {@link PagerStatus#NONE} if no VMM has it. */
    PagerStatus where() {
        Paging now = paging;
        return now == null ? PagerStatus.NONE : now.where();
    }

    /** The pagers, for a snapshot; empty if no VMM has it. */
    Optional<PagerFreezing> freezing() {
        Paging now = paging;
        return now == null || !isAttached() ? Optional.empty() : now.freezing();
    }

    /** The use of its space. */
    SpaceUse use() {
        return use;
    }

    void unpark() {
        Paging now = paging;
        if (now != null) {
            now.unpark();
        }
    }

    /** The status of a paging at one moment. */
    private record Snapshot(
            Optional<Integer> pid, boolean evictable, PagingStatus status, PinStatus pins, Optional<Parked> parked) {
        static final Snapshot NONE =
                new Snapshot(Optional.empty(), false, PagingStatus.NONE, PinStatus.NONE, Optional.empty());

        static Snapshot of(Paging paging) {
            return new Snapshot(
                    Optional.of(paging.pid()), paging.isEvictable(), paging.status(), paging.pins(), paging.parked());
        }

        Snapshot unparked() {
            return new Snapshot(pid, evictable, status, pins, Optional.empty());
        }
    }

    private Snapshot snapshot() {
        Paging now = paging;
        Snapshot ended = last;
        if (ended != null) {
            return ended;
        }
        return now == null ? Snapshot.NONE : Snapshot.of(now);
    }

    /** The latencies of its faults; empty before there is a VMM and after it has ended. */
    Optional<GuestLatencies> latencies() {
        Paging now = paging;
        return now == null || last != null ? Optional.empty() : Optional.of(now.latencies(space()));
    }

    /** The recorders of those latencies; none before there is a VMM and after it has ended. */
    List<LatencySeries> series() {
        Paging now = paging;
        return now == null || last != null ? List.of() : now.series(space());
    }

    /** Its pagers, for traces of their faults; none before there is a VMM and after it has ended. */
    List<TracedPager> traced() {
        Paging now = paging;
        return now == null || last != null ? List.of() : now.traced(space());
    }

    /** Its faults since the last call, for one caller; empty before there is a VMM and after it has ended. */
    Optional<GuestSample> sample() {
        Paging now = paging;
        return now == null || last != null
                ? Optional.empty()
                : Optional.of(new GuestSample(spaceId(), now.where(), now.recentFaults(), now.parked(), map.take()));
    }

    /** How far the copying of its pages to homes that join is. */
    List<CopyReport.Copy> copies() {
        Paging now = paging;
        return now == null || last != null ? List.of() : now.copies(spaceId());
    }

    /** Requests a count of its pages, for a sample a moment later. */
    void requestMap() {
        map.request();
    }

    GuestStatus status() {
        // First, so that the counts of a guest that has ended are its last.
        State at = state;
        Snapshot now = snapshot();
        return new GuestStatus(
                space(),
                spaceId(),
                at.word(),
                socket.path().toString(),
                now.pid(),
                use.space().encryption().isPresent(),
                now.evictable(),
                now.pins(),
                now.parked(),
                use.isRoomless(),
                detail,
                now.status().where(),
                now.status().faults(),
                now.status().parts());
    }
}
