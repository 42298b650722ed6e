package io.farpage.agent.shard;

import io.farpage.pool.header.PoolHeader;
import io.farpage.pool.header.PoolHeaderException;
import io.farpage.posix.PollSet;
import io.farpage.verbs.QueuePair;
import io.farpage.verbs.VerbsException;
import io.farpage.verbs.WcStatus;
import io.farpage.verbs.WorkCompletion;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * One thread's duty cycle. Whoever calls {@link #doWork()} owns the shard's queue pairs, completion queues, fetchers and links; in the
 * daemon that is a {@link ShardLoop}, in tests it may be the test itself.
 */
public final class Shard {
    private static final long HOUSEKEEPING_NANOS = TimeUnit.MILLISECONDS.toNanos(1);
    private static final long DRAIN_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final int TURNS_BETWEEN_CLOCK_READS = 64;
    private static final String REFUSED =
            "the peer refused a request; its keys, access flags, rdma.mtu or rdma.max_rd_atomic may not fit: ";

    private final List<Rail> rails;
    private final MemorySegment headerFrames;
    private final LongSupplier clock;
    private final Queue<ShardCommand> commands = new ConcurrentLinkedQueue<>();
    private final Queue<ShardNotice> notices = new ConcurrentLinkedQueue<>();
    private final Runnable noticed;

    private final List<PeerLink> links = new ArrayList<>();
    private final List<Fetcher> fetchers = new ArrayList<>();
    private final List<DutyCycle> cycles = new ArrayList<>();
    private final PeerLink[] mustPost;
    private final String[] expectedPeer;
    private int mustPostCount;
    private int turnsUntilClockRead;
    private boolean polledAll;
    private int looks;
    private long lastHousekeeping;
    private int busyLinks;
    private boolean closed;

    /**
     * @param rails the devices, each with this shard's completion queue
     * @param headerFrames staging memory for peers' pool headers, {@link PoolHeader#BYTES} for each link that may exist
     * @param clock monotonic nanoseconds
     * @param noticed called, on the shard's thread, after a notice was put out; must not block
     */
    public Shard(List<Rail> rails, MemorySegment headerFrames, LongSupplier clock, Runnable noticed) {
        this.rails = new ArrayList<>(rails);
        this.headerFrames = headerFrames;
        this.clock = clock;
        this.noticed = noticed;
        int maxLinks = (int) Math.min(Integer.MAX_VALUE, headerFrames.byteSize() / PoolHeader.BYTES);
        this.mustPost = new PeerLink[maxLinks];
        this.expectedPeer = new String[maxLinks];
        this.lastHousekeeping = clock.getAsLong();
        this.looks = mostLooks();
    }

    private int mostLooks() {
        return rails.stream().mapToInt(Rail::looks).max().orElse(1);
    }

    /** Tells the shard something. Any thread; the caller wakes the shard's thread afterwards if it may be asleep. */
    public void submit(ShardCommand command) {
        commands.add(command);
    }

    /** Takes the next notice. The control plane's thread only. */
    public @Nullable ShardNotice pollNotice() {
        return notices.poll();
    }

    /** Whether commands wait. Any thread. */
    boolean hasCommands() {
        return !commands.isEmpty();
    }

    /**
     * Makes a fetcher. On the shard's thread, or before it starts.
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

    /** One turn that looks once for completions; see {@link #doWork(boolean)}. */
    public int doWork() {
        return doWork(false);
    }

    /**
     * One turn: completions, commands, sources, doorbells, and now and then deadlines. Returns how much there was to do. Completions come
     * first, so that what they set off leaves in the same turn, and nothing asks for the answer to a request that has only just left.
     *
     * @param spins whether to look for completions again and again while transfers are under way, until there are some: these are waited
     *     for, whereas the rest of a turn may find something
     */
    int doWork(boolean spins) {
        int work = pollCompletions(0);
        for (int look = 1; spins && look < looks && work == 0 && hasTransfers(); look++) {
            work = pollCompletions(look);
        }
        work += runCommands();
        for (int i = 0; i < cycles.size(); i++) {
            work += cycles.get(i).doWork();
        }
        work += post();
        if (--turnsUntilClockRead <= 0) {
            turnsUntilClockRead = TURNS_BETWEEN_CLOCK_READS;
            int kept = housekeeping();
            polledAll &= kept == 0;
            work += kept;
        }
        return work;
    }

    /** Whether another turn would find nothing unless something new comes, which ends a sleep that began armed before this turn. */
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

    /** Makes the next turn look at the clock; after the thread slept. */
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

    /** Whether anything has a deadline, so that the thread may not sleep for long. */
    boolean hasDeadlines() {
        return busyLinks > 0 || hasTransfers();
    }

    /** Whether transfers are posted and nothing else is to be waited for. */
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
                    giveUp(link, reason);
                }
            }
            case ShardCommand.AddRail(Rail rail) -> {
                rails.add(rail);
                looks = mostLooks();
            }
            case ShardCommand.RemoveRail(Rail rail, CompletableFuture<Void> done) -> {
                rails.remove(rail);
                looks = mostLooks();
                done.complete(null);
            }
            case ShardCommand.AddCycle(DutyCycle cycle) -> cycles.add(cycle);
            case ShardCommand.RemoveCycle(DutyCycle cycle) -> cycles.remove(cycle);
            case ShardCommand.Run(Runnable task) -> task.run();
        }
    }

    private void attach(ShardCommand.Attach command) {
        PeerLink link = command.link();
        int number = links.indexOf(link);
        if (number < 0) {
            number = links.size();
            if (number == mustPost.length) {
                put(new ShardNotice.Released(
                        link, command.attempt(), command.queuePair(), "no room for more than " + number + " links"));
                return;
            }
            links.add(link);
        }
        expectedPeer[number] = link.peer();
        link.attach(command.queuePair(), command.rail(), command.incarnation(), command.memory(), command.attempt());
        busyLinks++;
        try {
            link.prepareHeaderRead(
                    WrId.header((char) link.attempt(), number),
                    headerFrame(number).address(),
                    PoolHeader.BYTES);
            mustPost(link);
        } catch (VerbsException e) {
            giveUp(link, e.toString());
        }
    }

    private MemorySegment headerFrame(int number) {
        return headerFrames.asSlice((long) number * PoolHeader.BYTES, PoolHeader.BYTES);
    }

    /** Notes that {@code link} has something prepared, to be posted at the end of the turn. */
    void mustPost(PeerLink link) {
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
                giveUp(link, e.toString());
            }
        }
        mustPostCount = 0;
        return work;
    }

    /** Looks into the completion queues of those rails that are to be looked at so often in one turn. */
    private int pollCompletions(int look) {
        int work = 0;
        polledAll = true;
        for (int r = 0; r < rails.size(); r++) {
            Rail rail = rails.get(r);
            if (look >= rail.looks()) {
                continue;
            }
            WorkCompletion[] batch = rail.batch();
            int count = rail.completionQueue().poll(batch);
            for (int i = 0; i < count; i++) {
                complete(batch[i]);
            }
            polledAll &= count < batch.length;
            work += count;
        }
        if (work > 0) {
            retryParked();
        }
        return work;
    }

    private void complete(WorkCompletion wc) {
        long wrId = wc.wrId();
        int slot = WrId.slot(wrId);
        if (WrId.isHeader(wrId)) {
            PeerLink link = links.get(slot);
            if (WrId.generation(wrId) == (char) link.attempt()) {
                link.completed();
                verify(link, slot, wc);
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
            giveUp(link, Fetcher.isRefusal(status) ? REFUSED + wc : wc.toString());
        }
        owner.complete(slot, status);
    }

    private void verify(PeerLink link, int number, WorkCompletion wc) {
        if (link.phase() != LinkPhase.VERIFYING) {
            return;
        }
        if (!wc.isSuccess()) {
            giveUp(link, "reading the pool header of " + link.peer() + " failed: " + wc);
            return;
        }
        try {
            PoolHeader header = PoolHeader.readFrom(headerFrame(number));
            header.verify(link.peer(), link.incarnation());
        } catch (PoolHeaderException e) {
            giveUp(link, "the peer is not who the coordinator said: " + e.getMessage());
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
    void giveUp(PeerLink link, String reason) {
        QueuePair queuePair = link.queuePair();
        if (queuePair == null || link.phase() == LinkPhase.DRAINING) {
            return;
        }
        if (link.phase() == LinkPhase.UP) {
            busyLinks++;
        }
        link.drain(reason, clock.getAsLong() + DRAIN_NANOS);
        try {
            queuePair.modifyToErr();
        } catch (VerbsException e) {
            // The device may be gone. Closing the queue pair, which follows, ends its access to memory all the same.
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
            for (int i = 0; i < links.size(); i++) {
                PeerLink link = links.get(i);
                if (link.isDrained(now)) {
                    release(link);
                    work++;
                }
            }
        }
        for (int i = 0; i < fetchers.size(); i++) {
            fetchers.get(i).expire(now);
        }
        return work;
    }

    private void release(PeerLink link) {
        long attempt = link.attempt();
        String reason = link.drainReason();
        QueuePair queuePair = link.release();
        // What never completed is the device's until the queue pair is destroyed: do that before anything is posted
        // again.
        queuePair.close();
        busyLinks--;
        for (int i = 0; i < fetchers.size(); i++) {
            fetchers.get(i).reclaim(link);
        }
        put(new ShardNotice.Released(link, attempt, queuePair, reason));
    }

    private void put(ShardNotice notice) {
        notices.add(notice);
        noticed.run();
    }

    /**
     * Gives up all links, ends all transfers with {@link FetchStatus#CLOSED} and destroys all queue pairs. The last thing that the shard's
     * thread does.
     */
    public void close() {
        closed = true;
        runCommands();
        for (PeerLink link : links) {
            if (link.queuePair() != null) {
                giveUp(link, "the agent is shutting down");
                release(link);
            }
        }
        for (Fetcher fetcher : fetchers) {
            fetcher.close();
        }
    }
}
