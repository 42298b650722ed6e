package io.farpage.agent.data.shard;

import io.farpage.linux.PollSet;
import io.farpage.pool.header.PoolHeader;
import io.farpage.pool.header.PoolHeaderException;
import io.farpage.verbs.QueuePair;
import io.farpage.verbs.VerbsException;
import io.farpage.verbs.WcStatus;
import io.farpage.verbs.WorkCompletion;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One thread's duty cycle. The thread that calls {@link #doWork()} owns the shard's queue pairs, completion queues, fetchers and links; in the
 * daemon it is that of a {@link ShardLoop}, in tests the test's own.
 *
 * <p>A failure ends a link, a device's completion queue with the links on it, or a source. The shard continues.
 */
public final class Shard {
    private static final Logger log = LoggerFactory.getLogger(Shard.class);
    private static final long HOUSEKEEPING_NANOS = TimeUnit.MILLISECONDS.toNanos(1);
    private static final long DRAIN_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final int TURNS_BETWEEN_CLOCK_READS = 64;
    private static final String REFUSED =
            "the peer refused a request; its keys, access flags, rdma.mtu or rdma.max_rd_atomic may not fit: ";

    private final List<Rail> rails;
    private final LongSupplier clock;
    private final Queue<ShardCommand> commands = new ConcurrentLinkedQueue<>();
    private final Queue<ShardNotice> notices = new ConcurrentLinkedQueue<>();
    private final Runnable noticed;

    private final LinkSlots links;
    private final List<Fetcher> fetchers = new ArrayList<>();
    private final List<DutyCycle> cycles = new ArrayList<>();
    private final PeerLink[] mustPost;
    private int mustPostCount;
    private int turnsUntilClockRead;
    private boolean polledAll;
    private int maxPolls;
    private long lastHousekeeping;
    private int busyLinks;
    private int switching;
    private boolean closed;

    /**
     * @param rails the devices, each with this shard's completion queue
     * @param headerFrames staging memory for peers' pool headers, {@link PoolHeader#BYTES} for each queue pair that there may be at once
     * @param clock monotonic nanoseconds
     * @param noticed called on the shard's thread after a notice was queued; must not block
     */
    public Shard(List<Rail> rails, MemorySegment headerFrames, LongSupplier clock, Runnable noticed) {
        this.rails = new ArrayList<>(rails);
        this.links = new LinkSlots(headerFrames);
        this.clock = clock;
        this.noticed = noticed;
        this.mustPost = new PeerLink[links.capacity()];
        this.lastHousekeeping = clock.getAsLong();
        this.maxPolls = maxPolls();
    }

    private int maxPolls() {
        return rails.stream().mapToInt(Rail::maxPolls).max().orElse(1);
    }

    /** Queues a command. Any thread; the caller wakes the shard's thread afterwards if it may be asleep. */
    public void submit(ShardCommand command) {
        commands.add(command);
    }

    /** The next notice, or null. The control plane's thread only. */
    public @Nullable ShardNotice pollNotice() {
        return notices.poll();
    }

    /**
     * Creates a fetcher. On the shard's thread, or before it starts.
     *
     * @param capacity transfers under way at once
     * @param deadlineNanos how long one may take
     */
    public Fetcher newFetcher(int capacity, long deadlineNanos) {
        Fetcher fetcher = new Fetcher(this, fetchers.size(), capacity, deadlineNanos);
        fetchers.add(fetcher);
        return fetcher;
    }

    boolean isClosed() {
        return closed;
    }

    long now() {
        return clock.getAsLong();
    }

    List<Rail> rails() {
        return rails;
    }

    /** Has every completion queue signal its channel at the next completion. */
    void arm() {
        for (int i = 0; i < rails.size(); i++) {
            Rail rail = rails.get(i);
            try {
                rail.completionQueue().requestNotification();
            } catch (RuntimeException e) {
                fail(rail, e);
                i--;
            }
        }
    }

    /** Acknowledges the events of a channel that is ready, or sleeps on it. */
    void await(Rail rail, long nanos) {
        try {
            rail.channel().await(nanos);
        } catch (RuntimeException e) {
            fail(rail, e);
        }
    }

    /** A duty cycle that polls for completions once; see {@link #doWork(boolean)}. */
    public int doWork() {
        return doWork(false);
    }

    /**
     * A duty cycle: completions, commands, sources, doorbells, and from time to time deadlines. Returns the amount of work. Completions come first, so
     * that the requests they cause are posted in the same duty cycle, and none is polled for that was just posted.
     *
     * @param spins whether to poll repeatedly for completions while transfers are under way, since these are what the thread waits for
     */
    int doWork(boolean spins) {
        int work = pollCompletions(0);
        for (int poll = 1; spins && poll < maxPolls && work == 0 && hasTransfers(); poll++) {
            work = pollCompletions(poll);
        }
        work += runCommands();
        work += runCycles();
        work += post();
        if (--turnsUntilClockRead <= 0) {
            turnsUntilClockRead = TURNS_BETWEEN_CLOCK_READS;
            int kept = housekeeping();
            polledAll &= kept == 0;
            work += kept;
        }
        return work;
    }

    private int runCycles() {
        int work = 0;
        for (int i = 0; i < cycles.size(); i++) {
            DutyCycle cycle = cycles.get(i);
            try {
                work += cycle.doWork();
            } catch (RuntimeException | Error e) {
                // A source may have removed itself, so the index is no longer valid.
                if (!outlives(cycle, e)) {
                    cycles.remove(cycle);
                }
                return work + 1;
            }
        }
        return work;
    }

    /** Whether a source that threw is run again. If not, its transfers end by themselves. The other sources continue. */
    private static boolean outlives(DutyCycle cycle, Throwable cause) {
        if (cause instanceof OutOfMemoryError fatal) {
            throw fatal; // not of this source's making, and no source can be relied on to survive it
        }
        log.error("{} threw; the other sources of the shard go on", cycle, cause);
        try {
            return cycle.failed(cause);
        } catch (RuntimeException | Error e) {
            log.error("{} could not deal with it and is turned no more", cycle, e);
            return false;
        }
    }

    /** Whether another duty cycle would find no work unless an event arrives, which ends a sleep whose channels were armed before this one. */
    boolean isSettled() {
        if (!polledAll) {
            return false;
        }
        for (int i = 0; i < fetchers.size(); i++) {
            if (fetchers.get(i).hasDone()) {
                return false;
            }
        }
        for (int i = 0; i < cycles.size(); i++) {
            if (!cycles.get(i).isSettled()) {
                return false;
            }
        }
        return true;
    }

    /** Makes the next duty cycle read the clock, after the thread has slept. */
    void clockIsStale() {
        turnsUntilClockRead = 0;
    }

    /** Whether a source cannot be woken through a file descriptor. */
    boolean needsPolling() {
        for (int i = 0; i < cycles.size(); i++) {
            if (cycles.get(i).needsPolling()) {
                return true;
            }
        }
        return false;
    }

    /** Adds the descriptors that sources wait for. */
    void addDescriptors(PollSet to) {
        for (int i = 0; i < cycles.size(); i++) {
            int fd = cycles.get(i).fileDescriptor();
            if (fd >= 0) {
                to.add(fd, PollSet.POLLIN);
            }
        }
    }

    private boolean hasDescriptors() {
        for (int i = 0; i < cycles.size(); i++) {
            if (cycles.get(i).fileDescriptor() >= 0) {
                return true;
            }
        }
        return false;
    }

    /** Whether a link or a transfer has a deadline, so that the thread may not sleep for long. */
    boolean hasDeadlines() {
        return busyLinks > 0 || hasTransfers();
    }

    /** Whether posted transfers are all that the thread waits for. */
    boolean awaitsOnlyTransfers() {
        if (busyLinks > 0 || !hasTransfers() || hasDescriptors()) {
            return false;
        }
        for (int i = 0; i < fetchers.size(); i++) {
            if (fetchers.get(i).hasParked()) {
                return false;
            }
        }
        return true;
    }

    private boolean hasTransfers() {
        for (int i = 0; i < fetchers.size(); i++) {
            if (fetchers.get(i).inUse() > 0) {
                return true;
            }
        }
        return false;
    }

    private int runCommands() {
        int work = 0;
        for (ShardCommand command = commands.poll(); command != null; command = commands.poll()) {
            run(command);
            work++;
        }
        return work;
    }

    private void run(ShardCommand command) {
        switch (command) {
            case ShardCommand.SetIncarnation(PeerLink link, long incarnation) -> {
                link.knownIncarnation(incarnation);
                retryParked();
            }
            case ShardCommand.Attach attach -> attach(attach);
            case ShardCommand.Detach(PeerLink link, long attempt, String reason) -> {
                if (link.queuePair() != null && link.attempt() == attempt) {
                    failLink(link, reason);
                }
            }
            case ShardCommand.Destroyed(PeerLink link, long attempt) -> {
                if (link.isReleased() && link.attempt() == attempt) {
                    destroyed(link);
                }
            }
            case ShardCommand.Switch(PeerLink link, PeerLink trial) -> yieldTo(link, trial);
            case ShardCommand.AddRail(Rail rail) -> {
                rails.add(rail);
                maxPolls = maxPolls();
            }
            case ShardCommand.RemoveRail(Rail rail, CompletableFuture<Void> done) -> {
                rails.remove(rail);
                maxPolls = maxPolls();
                done.complete(null);
            }
            case ShardCommand.AddCycle(DutyCycle cycle) -> cycles.add(cycle);
            case ShardCommand.RemoveCycle(DutyCycle cycle) -> cycles.remove(cycle);
            case ShardCommand.Run(Runnable task) -> run(task);
        }
    }

    private void attach(ShardCommand.Attach command) {
        PeerLink link = command.link();
        if (command.rail().hasFailed()) {
            refuse(command, "the completion queue of " + command.rail().name() + " has failed");
            return;
        }
        if (!links.take(link)) {
            refuse(command, "no room for more than " + links.capacity() + " links");
            return;
        }
        link.attach(command.queuePair(), command.rail(), command.incarnation(), command.memory(), command.attempt());
        busyLinks++;
        try {
            link.prepareHeaderRead(
                    links.headerWrId(link), links.headerFrame(link).address(), PoolHeader.BYTES);
            postLater(link);
        } catch (VerbsException e) {
            failLink(link, e.toString());
        }
    }

    private void refuse(ShardCommand.Attach command, String reason) {
        put(new ShardNotice.Released(command.link(), command.attempt(), command.queuePair(), reason, false));
    }

    /** Stops posting on the link until it can use the trial's queue pair. */
    private void yieldTo(PeerLink link, PeerLink trial) {
        boolean mayTake = trial.phase() == LinkPhase.UP;
        if (mayTake && link.phase() == LinkPhase.DOWN) {
            exchange(link, trial);
        } else if (mayTake && link.phase() == LinkPhase.UP) {
            link.yieldTo(trial, clock.getAsLong() + DRAIN_NANOS);
            busyLinks++;
            switching++;
            finishSwitches();
        }
    }

    /** Switches links without outstanding work: all their WRITEs have reached the home before anything is posted on the new queue pair. */
    private void finishSwitches() {
        for (int number = 0; number < links.capacity(); number++) {
            PeerLink link = links.get(number);
            if (link == null || link.phase() != LinkPhase.SWITCHING || !link.isQuiet()) {
                continue;
            }
            PeerLink trial = Objects.requireNonNull(link.successor());
            busyLinks--;
            switching--;
            if (trial.phase() == LinkPhase.UP) {
                exchange(link, trial);
            } else {
                link.up(); // the trial has failed meanwhile
                retryParked();
            }
        }
    }

    private void exchange(PeerLink link, PeerLink trial) {
        link.exchange(trial);
        links.exchanged(link, trial);
        put(new ShardNotice.Switched(link, trial, link.attempt()));
        retryParked();
    }

    /** Runs a task of another thread. If it throws, the shard logs that and continues. */
    private static void run(Runnable task) {
        try {
            task.run();
        } catch (OutOfMemoryError e) {
            throw e;
        } catch (RuntimeException | Error e) {
            log.error("a task threw", e);
        }
    }

    /** Schedules {@code link}'s chain to be posted at the end of the duty cycle. */
    void postLater(PeerLink link) {
        for (int i = 0; i < mustPostCount; i++) {
            if (mustPost[i] == link) {
                return;
            }
        }
        mustPost[mustPostCount++] = link;
    }

    private int post() {
        int work = mustPostCount;
        for (int i = 0; i < mustPostCount; i++) {
            PeerLink link = mustPost[i];
            try {
                if (link.hasPrepared()) {
                    link.post();
                }
            } catch (VerbsException e) {
                failLink(link, e.toString());
            }
        }
        mustPostCount = 0;
        return work;
    }

    /** Polls the completion queues of rails that are to be polled so often in one duty cycle. */
    private int pollCompletions(int poll) {
        int work = 0;
        polledAll = true;
        for (int r = 0; r < rails.size(); r++) {
            Rail rail = rails.get(r);
            if (poll >= rail.maxPolls()) {
                continue;
            }
            WorkCompletion[] batch = rail.batch();
            int count;
            try {
                count = rail.completionQueue().poll(batch);
            } catch (RuntimeException e) {
                fail(rail, e);
                return work + 1;
            }
            for (int i = 0; i < count; i++) {
                complete(batch[i]);
            }
            polledAll &= count < batch.length;
            work += count;
        }
        if (work > 0) {
            if (switching > 0) {
                finishSwitches();
            }
            retryParked();
        }
        return work;
    }

    /** Stops polling a completion queue that has failed. Its links are released without waiting for completions, since none can arrive. */
    private void fail(Rail rail, RuntimeException cause) {
        String reason = "the completion queue of " + rail.name() + " failed: " + cause;
        rail.fail();
        rails.remove(rail);
        maxPolls = maxPolls();
        for (int number = 0; number < links.capacity(); number++) {
            PeerLink link = links.get(number);
            if (link != null && link.isOn(rail) && !link.isReleased()) {
                failLink(link, reason);
                link.drain(reason, clock.getAsLong() - 1);
            }
        }
        put(new ShardNotice.RailFailed(rail, reason));
    }

    /** Handles a completion. */
    void complete(WorkCompletion wc) {
        long wrId = wc.wrId();
        int slot = WrId.slot(wrId);
        if (WrId.isHeader(wrId)) {
            PeerLink link = links.ofHeader(wrId);
            if (link != null) {
                link.completed();
                verify(link, wc);
            }
            return;
        }
        Fetcher owner = fetchers.get(WrId.fetcher(wrId));
        if (!owner.isPosted(slot, WrId.generation(wrId))) {
            return; // of a queue pair that was given up before it completed
        }
        PeerLink link = owner.home(slot);
        link.completed();
        WcStatus status = wc.status();
        if (status != WcStatus.SUCCESS && link.phase() != LinkPhase.DRAINING) {
            boolean refused = Fetcher.isRefusal(status);
            failLink(link, refused ? REFUSED + wc : wc.toString());
            link.refused(refused);
        }
        owner.complete(slot, status);
    }

    private void verify(PeerLink link, WorkCompletion wc) {
        if (link.phase() != LinkPhase.VERIFYING) {
            return;
        }
        if (!wc.isSuccess()) {
            failLink(link, "reading the pool header of " + link.peer() + " failed: " + wc);
            return;
        }
        try {
            PoolHeader header = PoolHeader.readFrom(links.headerFrame(link));
            header.verify(link.peer(), link.incarnation());
        } catch (PoolHeaderException e) {
            failLink(link, "the peer is not who the coordinator said: " + e.getMessage());
            return;
        }
        link.up();
        busyLinks--;
        put(new ShardNotice.Up(link, link.attempt()));
        retryParked();
    }

    private void retryParked() {
        for (int i = 0; i < fetchers.size(); i++) {
            if (fetchers.get(i).hasParked()) {
                fetchers.get(i).retryParked();
            }
        }
    }

    /** Moves the link's queue pair to ERR; it is released once its outstanding work requests have completed. */
    void failLink(PeerLink link, String reason) {
        QueuePair queuePair = link.queuePair();
        if (queuePair == null || link.phase() == LinkPhase.DRAINING) {
            return;
        }
        if (link.phase() == LinkPhase.UP) {
            busyLinks++;
        } else if (link.phase() == LinkPhase.SWITCHING) {
            switching--;
        }
        link.drain(reason, clock.getAsLong() + DRAIN_NANOS);
        try {
            queuePair.modifyToErr();
        } catch (RuntimeException e) {
            // The device may be gone. Destroying the queue pair, which comes next, ends its access to memory in any
            // case.
            link.drain(reason + "; " + e, clock.getAsLong());
        }
    }

    private int housekeeping() {
        long now = clock.getAsLong();
        if (now - lastHousekeeping < HOUSEKEEPING_NANOS) {
            return 0;
        }
        lastHousekeeping = now;
        int work = 0;
        if (busyLinks > 0) {
            work += checkLinks(now);
        }
        for (int i = 0; i < fetchers.size(); i++) {
            fetchers.get(i).expire(now);
        }
        return work;
    }

    private int checkLinks(long now) {
        int work = 0;
        for (int number = 0; number < links.capacity(); number++) {
            PeerLink link = links.get(number);
            if (link == null) {
                continue;
            }
            if (link.isLate(now)) {
                failLink(link, "what was outstanding did not complete before the switch to a better transport");
                work++;
            }
            if (link.isDrained(now)) {
                link.released();
                put(new ShardNotice.Released(
                        link,
                        link.attempt(),
                        Objects.requireNonNull(link.queuePair()),
                        link.drainReason(),
                        link.isRefused()));
                work++;
            }
        }
        if (switching > 0) {
            finishSwitches();
        }
        return work;
    }

    /** The queue pair is destroyed, so the device no longer accesses the memory of transfers that never completed: they can be posted again. */
    private void destroyed(PeerLink link) {
        links.free(link);
        link.release();
        busyLinks--;
        for (int i = 0; i < fetchers.size(); i++) {
            fetchers.get(i).reclaim(link);
        }
        retryParked();
    }

    private void put(ShardNotice notice) {
        notices.add(notice);
        noticed.run();
    }

    /**
     * Fails all links, ends all transfers with {@link FetchStatus#CLOSED} and destroys all queue pairs. The shard's thread ends after it.
     *
     * @throws VerbsException if a queue pair could not be destroyed, after all others were: memory must stay mapped then
     */
    public void close() {
        closed = true;
        runCommands();
        VerbsException undestroyed = null;
        for (int number = 0; number < links.capacity(); number++) {
            PeerLink link = links.get(number);
            if (link == null) {
                continue;
            }
            failLink(link, "the agent is shutting down");
            try {
                Objects.requireNonNull(link.queuePair()).close();
                destroyed(link);
            } catch (VerbsException e) {
                log.error("{} could not be given up", link, e);
                undestroyed = e;
            }
        }
        for (Fetcher fetcher : fetchers) {
            fetcher.close();
        }
        if (undestroyed != null) {
            throw undestroyed;
        }
    }
}
