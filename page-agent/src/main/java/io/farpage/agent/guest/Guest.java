package io.farpage.agent.guest;

import io.farpage.agent.pager.GuestRegion;
import io.farpage.agent.pager.Heat;
import io.farpage.agent.pager.Pager;
import io.farpage.agent.pager.PagerCounters;
import io.farpage.agent.pager.PagerEnd;
import io.farpage.agent.pager.PagerOptions;
import io.farpage.agent.pager.PagerStatus;
import io.farpage.agent.pager.WorkingSet;
import io.farpage.agent.shard.LatencyTotals;
import io.farpage.agent.space.SpaceMap;
import io.farpage.agent.space.SpaceUse;
import io.farpage.agent.uffd.MemoryFile;
import io.farpage.agent.uffd.Userfaultfd;
import io.farpage.posix.Errno;
import io.farpage.posix.FileIo;
import io.farpage.posix.Sockets;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One guest from its attachment to its end. A thread of its own waits for the VMM, checks what it hands over, has a pager serve it, and
 * looks after whether the VMM is still there. Whatever a VMM sends, only its own guest suffers from it.
 */
final class Guest {
    private static final Logger log = LoggerFactory.getLogger(Guest.class);
    private static final Duration LOOK = Duration.ofMillis(200);
    private static final Duration HEAT_INTERVAL = Duration.ofSeconds(5);
    private static final Duration STOP = Duration.ofSeconds(5);

    private enum State {
        WAITING,
        ATTACHED,
        ENDED
    }

    private final SpaceUse use;
    private final boolean written;
    private final WorkingSet workingSet;
    private final Path path;
    private final PagerOptions options;
    private final PagerHost host;
    private final HandoffSocket socket;
    private final Listener listener;
    private final Thread thread;

    private volatile State state = State.WAITING;
    private volatile String detail = "";
    private volatile int pid;
    private volatile boolean evictable;
    private volatile @Nullable Serving serving;
    private volatile boolean stopping;

    /** Who is told of what happens to a guest. */
    interface Listener {
        /** How warm its pages are. */
        void heat(SpaceMap map, Heat heat);

        /** It has ended, and this was here. */
        void left(SpaceMap map, WorkingSet workingSet);

        /** Its space is no longer used. */
        void released(SpaceMap map);
    }

    /** A pager at work, and what it was given. */
    private record Serving(
            Pager pager,
            Userfaultfd uffd,
            @Nullable MemoryFile file,
            LatencyTotals fault,
            LatencyTotals fetch,
            LatencyTotals install,
            CompletableFuture<PagerEnd> ended) {}

    /**
     * Listens, and starts to wait for the VMM.
     *
     * @param use of the space, alone; closed at the end
     * @param written whether the space may hold something
     * @param workingSet what to fetch before it is asked for
     * @param listener told of what happens to the guest, on its thread
     */
    Guest(
            SpaceUse use,
            boolean written,
            WorkingSet workingSet,
            Path path,
            PagerOptions options,
            PagerHost host,
            Listener listener)
            throws IOException {
        this.use = use;
        this.written = written;
        this.workingSet = workingSet;
        this.path = path;
        this.options = options;
        this.host = host;
        this.listener = listener;
        socket = HandoffSocket.listen(path);
        thread = Thread.ofPlatform().daemon().name("guest-" + use.map().name()).unstarted(this::run);
    }

    void start() {
        thread.start();
    }

    String space() {
        return use.map().name();
    }

    private void run() {
        try {
            Serving now = awaitHandoff();
            socket.stopListening();
            if (now == null) {
                detail = "detached before a VMM came";
                return;
            }
            serving = now;
            state = State.ATTACHED;
            PagerEnd end = awaitEnd(now);
            listener.left(use.map(), end.workingSet());
            detail = end.reason() + (end.saved() ? "" : "; what its memory held is not at its homes");
            log.info("space {}: {}", space(), detail);
        } catch (RuntimeException e) {
            detail = e.toString();
            log.error("space {}: the guest is given up", space(), e);
        } finally {
            socket.close();
            use.close();
            listener.released(use.map());
            state = State.ENDED;
        }
    }

    /** Takes connections until one brings a proper handoff; null if the guest is to be detached before. */
    private @Nullable Serving awaitHandoff() {
        while (!stopping) {
            int connection = socket.accept();
            if (connection < 0) {
                continue;
            }
            try {
                return take(socket.receive(connection));
            } catch (HandoffException e) {
                detail = e.getMessage() == null ? "" : e.getMessage();
                log.warn("space {}: a handoff on {} was refused: {}", space(), path, detail);
                socket.refuse(connection, detail);
            } finally {
                FileIo.close(Errno.ofThread(), connection);
            }
        }
        return null;
    }

    private Serving take(HandoffSocket.Message message) throws HandoffException {
        List<Integer> open = new ArrayList<>(message.descriptors());
        try {
            List<GuestRegion> regions = Handoff.parse(
                    message.json(),
                    use.map().pageSize(),
                    use.map().pages() * use.map().pageSize());
            Descriptors.check(open, regions);
            Sockets.setBlocking(Errno.ofThread(), open.getFirst(), false);
            Userfaultfd uffd = Userfaultfd.adopt(open.getFirst());
            MemoryFile file = open.size() > 1 ? MemoryFile.adopt(open.get(1)) : null;
            CompletableFuture<PagerEnd> ended = new CompletableFuture<>();
            Pager pager = host.serve(
                    new Pager.Guest(space(), uffd, file, regions, use.map().pageSize(), written, workingSet),
                    use::map,
                    options,
                    ended);
            pid = message.pid();
            evictable = file != null;
            detail = "";
            log.info(
                    "space {}: guest of process {} attached, {} bytes in {} regions{}",
                    space(),
                    pid,
                    regions.stream().mapToLong(GuestRegion::length).sum(),
                    regions.size(),
                    file == null ? "; without its memory file, so nothing of it can be evicted" : "");
            open.clear();
            PagerCounters counters = pager.counters();
            return new Serving(
                    pager,
                    uffd,
                    file,
                    new LatencyTotals(counters.fault()),
                    new LatencyTotals(counters.fetch()),
                    new LatencyTotals(counters.install()),
                    ended);
        } finally {
            open.forEach(fd -> FileIo.close(Errno.ofThread(), fd));
        }
    }

    /** Waits for the pager to end, having it look now and then whether the VMM is still there. */
    private PagerEnd awaitEnd(Serving now) {
        long heatReported = System.nanoTime();
        try {
            while (true) {
                try {
                    return now.ended().get(LOOK.toMillis(), TimeUnit.MILLISECONDS);
                } catch (TimeoutException e) {
                    host.probe(now.pager());
                    if (System.nanoTime() - heatReported > HEAT_INTERVAL.toNanos()) {
                        heatReported = System.nanoTime();
                        listener.heat(use.map(), now.pager().heat());
                    }
                } catch (ExecutionException e) {
                    throw new IllegalStateException(e.getCause());
                } catch (InterruptedException e) {
                    return new PagerEnd(
                            "the agent is shutting down while its VMM runs; the VMM will stall",
                            false,
                            WorkingSet.EMPTY);
                }
            }
        } finally {
            host.retire(now.pager());
            now.uffd().close();
            if (now.file() != null) {
                now.file().close();
            }
        }
    }

    /** Whether the VMM runs. */
    boolean isAttached() {
        return state == State.ATTACHED;
    }

    boolean hasEnded() {
        return state == State.ENDED;
    }

    int pid() {
        return pid;
    }

    /** Ends a guest whose VMM has not come, or all of it if the agent ends. Waits. */
    void stop() {
        stopping = true;
        socket.wakeUp();
        if (state == State.ATTACHED) {
            thread.interrupt();
        }
        try {
            if (!thread.join(STOP)) {
                log.warn("{} did not stop within {}", thread.getName(), STOP);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    void resize(int localPages) {
        Serving now = serving;
        if (now != null) {
            now.pager().resize(localPages);
            host.wake();
        }
    }

    /** The pager, once attached. */
    Optional<Pager> pager() {
        return Optional.ofNullable(serving).map(Serving::pager);
    }

    GuestStatus status() {
        Serving now = serving;
        return new GuestStatus(
                space(),
                state.name().toLowerCase(java.util.Locale.ROOT),
                path.toString(),
                state == State.WAITING || now == null ? Optional.empty() : Optional.of(pid),
                evictable,
                detail,
                now == null ? PagerStatus.NONE : now.pager().status(),
                now == null ? GuestStatus.Faults.NONE : faults(now));
    }

    private static GuestStatus.Faults faults(Serving now) {
        PagerCounters counters = now.pager().counters();
        Histogram fault = now.fault().sample();
        return new GuestStatus.Faults(
                counters.faults(),
                counters.fetched().get(),
                counters.zeros().get(),
                counters.writeProtect().get(),
                counters.repeated().get(),
                counters.waits().get(),
                counters.removed().get(),
                counters.prefetched().get(),
                fault.getValueAtPercentile(50),
                fault.getValueAtPercentile(99),
                fault.getValueAtPercentile(99.9),
                fault.getMaxValue(),
                now.fetch().sample().getValueAtPercentile(50),
                now.install().sample().getValueAtPercentile(50));
    }
}
