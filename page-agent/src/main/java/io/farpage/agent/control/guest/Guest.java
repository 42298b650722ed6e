package io.farpage.agent.control.guest;

import io.farpage.agent.control.pins.PinStatus;
import io.farpage.agent.control.space.SpaceUse;
import io.farpage.agent.data.pager.PagerEnd;
import io.farpage.agent.data.pager.PagerOptions;
import io.farpage.agent.data.pager.SpaceMap;
import io.farpage.agent.data.pager.WorkingSet;
import io.farpage.coordinator.model.HeatReport;
import io.farpage.linux.Errno;
import io.farpage.linux.FileIo;
import io.farpage.linux.Sockets;
import io.farpage.linux.uffd.Userfaultfd;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One guest from its attachment to its end. A thread of its own waits for the VMM, checks what it hands over, has pagers serve it, and
 * looks after whether the VMM is still there. Whatever a VMM sends, only its own guest suffers from it.
 */
final class Guest {
    private static final Logger log = LoggerFactory.getLogger(Guest.class);
    private static final Duration PROBE = Duration.ofMillis(200);
    private static final Duration HEAT_INTERVAL = Duration.ofSeconds(5);
    private static final Duration STOP = Duration.ofSeconds(5);

    private enum State {
        WAITING,
        /** A handoff has arrived, which is checked and taken or refused. */
        TAKING,
        ATTACHED,
        ENDED;

        String word() {
            return this == TAKING ? WAITING.word() : name().toLowerCase(Locale.ROOT);
        }
    }

    private final SpaceUse use;
    private final boolean written;
    private final WorkingSet workingSet;
    private final PagerOptions options;
    private final PagerHosts hosts;
    private final HandoffSocket socket;
    private final Listener listener;
    private final Thread thread;
    private final RefusalLog refusals = new RefusalLog();

    /** Written under the lock, so that a guest is either detached or takes a handoff. */
    private volatile State state = State.WAITING;

    private volatile String detail = "";
    private volatile int pid;
    private volatile boolean evictable;
    private volatile @Nullable Paging paging;
    /** What is kept of the paging once it has ended, rather than its histograms. */
    private volatile @Nullable Seen seenLast;

    private volatile boolean stopping;
    /** The guest's thread only. */
    private boolean cutOff;

    /** Is told of what happens to a guest. */
    interface Listener {
        /** How warm its pages are. */
        void heat(SpaceMap map, HeatReport heat);

        /** It has ended, and these pages were resident. */
        void left(SpaceMap map, WorkingSet workingSet);

        /** Its space is no longer used. */
        void released(SpaceMap map);
    }

    /**
     * Makes it ready to wait for the VMM.
     *
     * @param use of the space, alone; closed at the end
     * @param written whether the space may hold something
     * @param workingSet what to fetch before it is asked for
     * @param socket on which the VMM hands its memory over; closed at the end
     * @param listener told of what happens to the guest, on its thread
     */
    Guest(
            SpaceUse use,
            boolean written,
            WorkingSet workingSet,
            HandoffSocket socket,
            PagerOptions options,
            PagerHosts hosts,
            Listener listener) {
        this.use = use;
        this.written = written;
        this.workingSet = workingSet;
        this.socket = socket;
        this.options = options;
        this.hosts = hosts;
        this.listener = listener;
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

    private void run() {
        try {
            Paging now = awaitHandoff();
            socket.stopListening();
            if (now == null) {
                detail = use.isRevoked() ? "its space was deleted before a VMM came" : "detached before a VMM came";
                return;
            }
            paging = now;
            become(State.ATTACHED);
            PagerEnd end = awaitEnd(now);
            listener.left(use.map(), end.workingSet());
            detail = end.reason() + (end.saved() ? "" : "; what its memory held is not at its homes");
            if (!end.saved()) {
                tear(end.reason());
            }
            log.info("space {}: {}", space(), detail);
        } catch (RuntimeException e) {
            detail = e.toString();
            tear("its guest was given up: " + e);
            log.error("space {}: the guest is given up", space(), e);
        } finally {
            socket.close();
            release();
            become(State.ENDED);
        }
    }

    /** Marks the space as torn, if pages of it may have been written to their homes while others were not. */
    private void tear(String reason) {
        if (evictable) {
            use.tear(reason);
        }
    }

    /** Lets go of the space, unless transfers may be under way: then it stays attached until the shards have stopped. */
    private void release() {
        Paging was = paging;
        if (was == null || was.hasEnded()) {
            if (was != null) {
                seenLast = new Seen(was.status(), was.pins());
                paging = null;
            }
            use.close();
            listener.released(use.map());
        } else {
            log.warn("space {} (id {}) stays attached until this agent ends", space(), spaceId());
        }
    }

    /** Takes connections until one brings a proper handoff; null if the guest is to be detached before. */
    private @Nullable Paging awaitHandoff() {
        use.whenRevoked(socket::wakeUp);
        while (!stopping && !use.isRevoked()) {
            Optional<HandoffConnection> next = socket.next();
            if (next.isEmpty()) {
                continue;
            }
            try (HandoffConnection connection = next.get()) {
                try {
                    if (!beginTaking()) {
                        throw new HandoffException("the guest was detached, or its space deleted, before its VMM came");
                    }
                    return take(connection.message());
                } catch (HandoffException e) {
                    become(State.WAITING);
                    detail = e.getMessage() == null ? "" : e.getMessage();
                    refusals.refused(space(), socket.path(), detail);
                    connection.refuse(detail);
                }
            }
        }
        return null;
    }

    private synchronized void become(State next) {
        state = next;
    }

    /** Begins to take a handoff; false if the guest is to be detached. */
    private synchronized boolean beginTaking() {
        if (stopping || use.isRevoked()) {
            return false;
        }
        state = State.TAKING;
        return true;
    }

    private Paging take(HandoffConnection.Message message) throws HandoffException {
        List<Integer> open = new ArrayList<>(message.descriptors());
        Backing backing = null;
        try {
            int pageBytes = use.map().pageSize();
            List<Slice> slices =
                    Handoff.parse(message.json(), pageBytes, use.map().pages() * pageBytes);
            Descriptors.check(open, slices);
            List<Userfaultfd> uffds = new ArrayList<>();
            for (int fd : open.subList(0, slices.size())) {
                Sockets.setBlocking(Errno.ofThread(), fd, false);
                uffds.add(Userfaultfd.adopt(fd));
            }
            if (open.size() > slices.size()) {
                backing = Backing.take(space(), open.getLast(), message.pid(), hosts.pins());
                open.removeLast();
            }
            Paging now = new Paging(
                    new Paging.Memory(space(), use::map, pageBytes, written, workingSet),
                    slices,
                    uffds,
                    backing,
                    options,
                    hosts);
            boolean evicts = backing != null;
            backing = null;
            open.clear();
            pid = message.pid();
            evictable = evicts;
            detail = "";
            log.info(
                    "space {}: guest of process {} attached, {} bytes, {} userfaultfds{}",
                    space(),
                    pid,
                    slices.stream().mapToLong(Slice::mappedBytes).sum(),
                    slices.size(),
                    !evicts ? "; without its memory file, so nothing of it can be evicted" : "");
            return now;
        } finally {
            if (backing != null) {
                backing.close();
            }
            open.forEach(fd -> FileIo.close(Errno.ofThread(), fd));
        }
    }

    /** Waits for the pagers to end, having them probe now and then whether the VMM is still there. */
    private PagerEnd awaitEnd(Paging now) {
        long heatReported = System.nanoTime();
        try {
            while (!stopping) {
                try {
                    return now.await(PROBE);
                } catch (TimeoutException e) {
                    now.probe();
                    cutOffIfRevoked(now);
                    if (System.nanoTime() - heatReported > HEAT_INTERVAL.toNanos()) {
                        heatReported = System.nanoTime();
                        listener.heat(use.map(), now.heat());
                    }
                }
            }
        } catch (InterruptedException e) {
            // As when it is told to stop.
        } finally {
            now.close();
        }
        return new PagerEnd(
                "the agent is shutting down while its VMM runs; the VMM will stall", false, WorkingSet.EMPTY);
    }

    /** The space was deleted: once nothing of the guest reaches the homes any more, the homes may have their room back. */
    private void cutOffIfRevoked(Paging now) throws InterruptedException {
        if (!cutOff && use.isRevoked() && now.isCutOff()) {
            cutOff = true;
            detail = "its space was deleted; the pages that are not resident are lost";
            log.warn("space {} (id {}) of process {}: {}", space(), spaceId(), pid, detail);
            use.cutOff();
        }
    }

    /** Whether the VMM runs. */
    boolean isAttached() {
        return state == State.ATTACHED;
    }

    /** Has it take no handoff any more; false if it has taken one, and its VMM may run. */
    synchronized boolean stopWaiting() {
        if (state == State.TAKING || state == State.ATTACHED) {
            return false;
        }
        stopping = true;
        return true;
    }

    boolean hasEnded() {
        return state == State.ENDED;
    }

    int pid() {
        return pid;
    }

    /** Has it end, with its VMM if that runs. */
    void requestStop() {
        stopping = true;
        socket.wakeUp();
        if (state == State.ATTACHED) {
            thread.interrupt();
        }
    }

    /** Ends a guest whose VMM has not come, or all of it if the agent ends. Waits. */
    void stop() {
        requestStop();
        try {
            if (!thread.join(STOP)) {
                log.warn("{} did not stop within {}", thread.getName(), STOP);
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

    /** What there is to see of a paging. */
    private record Seen(PagingStatus status, PinStatus pins) {
        static final Seen NOTHING = new Seen(PagingStatus.NONE, PinStatus.NONE);
    }

    private Seen seen() {
        Paging now = paging;
        Seen last = seenLast;
        if (last != null) {
            return last;
        }
        return now == null ? Seen.NOTHING : new Seen(now.status(), now.pins());
    }

    GuestStatus status() {
        Seen now = seen();
        PagingStatus seen = now.status();
        return new GuestStatus(
                space(),
                spaceId(),
                state.word(),
                socket.path().toString(),
                state == State.WAITING || now.equals(Seen.NOTHING) ? Optional.empty() : Optional.of(pid),
                evictable,
                now.pins(),
                detail,
                seen.where(),
                seen.faults(),
                seen.parts());
    }
}
