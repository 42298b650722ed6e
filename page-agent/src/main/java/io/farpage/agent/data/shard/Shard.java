package io.farpage.agent.data.shard;

import io.farpage.linux.PollSet;
import io.farpage.pool.header.PoolHeader;
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
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One thread's duty cycle. The thread that calls {@link #doWork()} owns the shard's queue pairs, completion queues,
 * fetchers and links; in the daemon it is that of a {@link ShardLoop}, in tests the test's own.
 *
 * <p>A failure ends a link, a device's completion queue with the links on it, or a source. The shard continues.
 */
public final class Shard {
    private static final Logger log = LoggerFactory.getLogger(Shard.class);
    private static final long HOUSEKEEPING_NANOS = TimeUnit.MILLISECONDS.toNanos(1);
    private static final int CYCLES_BETWEEN_CLOCK_READS = 64;
    private static final String REFUSED =
            "the peer refused a request; its keys, access flags, rdma.mtu or rdma.max_rd_atomic may not fit: ";

    private final List<Rail> rails;
    private final LongSupplier clock;
    /** Judges how long transfers and links have not been answered. */
    private final SilenceClock silence;

    private final Queue<ShardCommand> commands = new ConcurrentLinkedQueue<>();
    private final Queue<ShardNotice> notices = new ConcurrentLinkedQueue<>();
    private final Runnable noticed;

    private final Fetchers fetchers = new Fetchers();
    private final Messages messages;
    private final List<Rail> devices;
    private final Links links;
    private final Sources sources;
    private int cyclesUntilClockRead;
    private boolean polledAll;
    private int maxPolls;
    private long lastHousekeeping;
    private boolean closed;

    /**
     * @param rails the devices, each with this shard's completion queue
     * @param headerFrames staging memory for peers' pool headers, {@link PoolHeader#BYTES} for each queue pair that
     *     there may be at once
     * @param clock monotonic nanoseconds
     * @param noticed called on the shard's thread after a notice was queued; must not block
     */
    public Shard(List<Rail> rails, MemorySegment headerFrames, LongSupplier clock, Runnable noticed) {
        this(rails, headerFrames, MessageMemory.none(), clock, noticed);
    }

    /**
     * As {@link #Shard(List, MemorySegment, LongSupplier, Runnable)}, for a shard that exchanges messages.
     *
     * @param messageMemory in which it does so
     */
    public Shard(
            List<Rail> rails,
            MemorySegment headerFrames,
            MessageMemory messageMemory,
            LongSupplier clock,
            Runnable noticed) {
        this.rails = new ArrayList<>(rails);
        this.devices = List.copyOf(rails);
        this.clock = clock;
        this.noticed = noticed;
        silence = new SilenceClock(clock);
        sources = new Sources(clock);
        this.messages = new Messages(messageMemory, silence::read, this::postLater, this::failLink);
        this.links = new Links(headerFrames, fetchers, messages, silence::read, this::put);
        this.lastHousekeeping = silence.now();
        this.maxPolls = maxPolls();
    }

    /** All devices, those that have failed included. Any thread. */
    public List<Rail> devices() {
        return devices;
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
     * Creates a fetcher. Any thread; the shard's thread alone uses it.
     *
     * @param capacity transfers under way at once
     * @param deadlineNanos how long one may take
     */
    public Fetcher newFetcher(int capacity, long deadlineNanos) {
        return newFetcher(capacity, deadlineNanos, KeyUse.ATTACHMENT);
    }

    /**
     * As {@link #newFetcher(int, long)}.
     *
     * @param use what the keys of its transfers were granted for
     */
    public Fetcher newFetcher(int capacity, long deadlineNanos, KeyUse use) {
        return fetchers.add(index -> new Fetcher(this, index, capacity, deadlineNanos, use));
    }

    /** Sets what receives the messages of all peers. Without one the shard exchanges none. Before the shard runs. */
    public void listen(MessageListener listener) {
        messages.listen(listener);
    }

    /** Where queue pairs of this shard get the receive for their first message. Any thread. */
    public MessageMemory messageMemory() {
        return messages.memory();
    }

    boolean isClosed() {
        return closed;
    }

    /** See {@link Fetchers#areBusyBeside}. */
    boolean isBusyBeside(Fetcher fetcher) {
        return fetchers.areBusyBeside(fetcher);
    }

    /** See {@link Links#postLater}. */
    void postLater(PeerLink link) {
        links.postLater(link);
    }

    /** See {@link Links#failLink}. */
    void failLink(PeerLink link, String reason) {
        links.failLink(link, reason);
    }

    private void failLink(PeerLink link, String reason, boolean refused) {
        if (link.phase() != LinkPhase.DRAINING) {
            links.failLink(link, reason);
            link.refused(refused);
        }
    }

    long now() {
        return clock.getAsLong();
    }

    SilenceClock silence() {
        return silence;
    }

    List<Rail> rails() {
        return rails;
    }

    /** Makes every completion queue signal its channel at the next completion. */
    void arm() {
        for (int i = 0; i < rails.size(); i++) {
            Rail rail = rails.get(i);
            try {
                rail.completionQueue().requestNotification();
            } catch (RuntimeException e) {
                fail(rail, e.toString());
                i--;
            }
        }
    }

    /** Sleeps until a completion queue of a rail has a completion of a transfer. */
    void await(Rail rail, long nanos) {
        try {
            rail.channel().awaitSends(nanos);
        } catch (RuntimeException e) {
            fail(rail, e.toString());
        }
    }

    /** A duty cycle that polls for completions once; see {@link #doWork(boolean)}. */
    public int doWork() {
        return doWork(false);
    }

    /**
     * A duty cycle: completions, commands, what threads wait for and its doorbells, the other work of sources and its
     * doorbells, and from time to time deadlines. Returns the amount of work. Completions come first, so that the
     * requests they cause are posted in the same duty cycle, and none is polled for that was just posted. A duty cycle
     * that judges deadlines first handles all completions that have arrived.
     *
     * @param spins whether to poll repeatedly for completions while transfers are under way, since these are what the
     *     thread waits for
     */
    int doWork(boolean spins) {
        boolean judges = false;
        // Sources judge peers by that time, in every duty cycle.
        if (--cyclesUntilClockRead <= 0 || !sources.isEmpty()) {
            cyclesUntilClockRead = CYCLES_BETWEEN_CLOCK_READS;
            silence.advance();
            judges = silence.now() - lastHousekeeping >= HOUSEKEEPING_NANOS;
        }
        int work = pollCompletions(0);
        for (int poll = 1; spins && poll < maxPolls && work == 0 && fetchers.hasTransfers(); poll++) {
            work = pollCompletions(poll);
        }
        // Nothing is posted meanwhile, so what is under way bounds the number of completions.
        while (judges && !polledAll) {
            work += pollCompletions(0);
        }
        int run = runCommands();
        if (run > 0) {
            sources.wake();
        }
        work += run + messages.deliver();
        work += sources.doUrgentWork();
        work += links.post();
        work += sources.doWork();
        work += links.post();
        if (judges) {
            int kept = housekeeping(silence.now());
            polledAll &= kept == 0;
            work += kept;
        }
        return work;
    }

    /**
     * Whether another duty cycle would find no work unless an event arrives, which ends a sleep whose channels were
     * armed before this one.
     */
    boolean isQuiescent() {
        return polledAll && !fetchers.hasDone() && sources.areQuiescent();
    }

    /** The thread has slept, for so long at most. The next duty cycle reads the clock. */
    void slept(long atMostNanos) {
        silence.slept(atMostNanos);
        cyclesUntilClockRead = 0;
        sources.slept();
    }

    /** Any source may have work: the next duty cycle leaves none out. */
    void wakeSources() {
        sources.wake();
    }

    /** Whether a source cannot be woken through a file descriptor. */
    boolean needsPolling() {
        return sources.needPolling();
    }

    /** Whether the descriptors of sources must be polled before each duty cycle. */
    boolean hasManySources() {
        return sources.areMany();
    }

    /** Adds the descriptors that sources are waited for with. */
    void addSources(PollSet to) {
        sources.addDescriptors(to);
    }

    /** Tells sources about their descriptors, in a set that was waited on since {@link #addSources}. */
    void polledSources(PollSet set) {
        sources.polled(set);
    }

    /** Adds the descriptors that completions and sources are waited for with. */
    void addDescriptors(PollSet to) {
        for (int i = 0; i < rails.size(); i++) {
            Rail rail = rails.get(i);
            try {
                rail.channel().addTo(to);
            } catch (RuntimeException e) {
                fail(rail, e.toString());
                i--;
            }
        }
        sources.addDescriptors(to);
    }

    /**
     * Consumes the events of the rails, and tells sources about their descriptors, in a set that was waited on since
     * {@link #addDescriptors}.
     */
    void polled(PollSet set) {
        sources.polled(set);
        // From the last to the first: a rail that fails is removed.
        for (int i = rails.size() - 1; i >= 0; i--) {
            Rail rail = rails.get(i);
            try {
                rail.channel().polled(set);
            } catch (RuntimeException e) {
                fail(rail, e.toString());
            }
        }
    }

    /** Whether a link or a transfer has a deadline, so that the thread may not sleep for long. */
    boolean hasDeadlines() {
        return links.areBusy() || fetchers.hasTransfers() || messages.hasOutstanding() || sources.waitForTime();
    }

    /** Whether posted transfers are all that the thread waits for. */
    boolean awaitsOnlyTransfers() {
        return !links.areBusy()
                && fetchers.hasTransfers()
                && !fetchers.hasParked()
                && !messages.hasChannels()
                && !sources.hasDescriptors();
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
            case ShardCommand.Grant(PeerLink link, PeerGrants grants) -> {
                link.grant(grants);
                fetchers.retryParked();
            }
            case ShardCommand.Install(PeerLink link, Connection connection) -> links.install(link, connection);
            case ShardCommand.Remove(PeerLink link, long attempt, String reason) -> {
                if (link.isOfAttempt(attempt)) {
                    links.failLink(link, reason);
                }
            }
            case ShardCommand.Destroyed(PeerLink link, long attempt) -> {
                if (link.isReleased() && link.isOfAttempt(attempt)) {
                    links.destroyed(link);
                }
            }
            case ShardCommand.Switch(PeerLink link, PeerLink trial) -> links.beginSwitch(link, trial);
            case ShardCommand.OpenMessages(PeerLink link) -> messages.want(link, true);
            case ShardCommand.CloseMessages(PeerLink link) -> messages.want(link, false);
            case ShardCommand.AddRail(Rail rail) -> {
                rails.add(rail);
                maxPolls = maxPolls();
            }
            case ShardCommand.RemoveRail(Rail rail, CompletableFuture<Void> done) -> {
                rails.remove(rail);
                maxPolls = maxPolls();
                done.complete(null);
            }
            case ShardCommand.FailRail(Rail rail, String cause) -> {
                if (rails.contains(rail)) {
                    fail(rail, cause);
                }
            }
            case ShardCommand.AddCycle(DutyCycle cycle) -> sources.add(cycle);
            case ShardCommand.RemoveCycle(DutyCycle cycle) -> sources.remove(cycle);
            case ShardCommand.Run(Runnable task) -> run(task);
        }
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

    /** Polls the completion queues of the rails with more than {@code poll} polls in a duty cycle. */
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
                fail(rail, e.toString());
                polledAll = false;
                return work + 1;
            }
            for (int i = 0; i < count; i++) {
                if (batch[i].status() != WcStatus.SUCCESS && !isFlushedReceive(batch[i])) {
                    rail.failed(batch[i].status());
                }
                complete(batch[i]);
            }
            polledAll &= count < batch.length;
            work += count;
        }
        if (work > 0) {
            links.transfersCompleted();
            fetchers.retryParked();
        }
        return work;
    }

    /**
     * Stops polling a completion queue that has failed. Its links are released without waiting for completions, since
     * none can arrive.
     */
    private void fail(Rail rail, String cause) {
        String reason = "the completion queue of " + rail.name() + " failed: " + cause;
        rail.fail();
        rails.remove(rail);
        maxPolls = maxPolls();
        links.railFailed(rail, reason);
        put(new ShardNotice.RailFailed(rail, reason));
    }

    /** Each queue pair that carries messages ends with some. */
    private static boolean isFlushedReceive(WorkCompletion wc) {
        return wc.status() == WcStatus.WR_FLUSH_ERR && WrId.isReceive(wc.wrId());
    }

    /** Handles a completion. */
    void complete(WorkCompletion wc) {
        long wrId = wc.wrId();
        if (WrId.isReserved(wrId)) {
            if (WrId.isHeader(wrId)) {
                links.headerRead(wc);
            } else {
                messages.completed(wc);
            }
            return;
        }
        int slot = WrId.slot(wrId);
        Fetcher owner = fetchers.get(WrId.fetcher(wrId));
        if (!owner.isPosted(slot, WrId.generation(wrId))) {
            return; // of a queue pair that was destroyed before the transfer completed
        }
        PeerLink link = owner.home(slot);
        WcStatus status = wc.status();
        link.completed(owner.bulkBytes(slot), status == WcStatus.SUCCESS, silence.read());
        if (status == WcStatus.REM_ACCESS_ERR) {
            owner.grantRefused(slot);
        }
        if (status != WcStatus.SUCCESS && link.phase() != LinkPhase.DRAINING) {
            boolean refused = Fetcher.isRefusal(status);
            links.failLink(link, refused ? REFUSED + wc : wc.toString());
            link.refused(refused);
        }
        owner.complete(slot, status);
    }

    private int housekeeping(long now) {
        lastHousekeeping = now;
        int work = links.check(now) + messages.check(now);
        fetchers.expire(now);
        return work + messages.deliver();
    }

    /** The peer has refused the key of the range that a transfer is in. */
    void grantRefused(ShardNotice.GrantRefused notice) {
        put(notice);
    }

    private void put(ShardNotice notice) {
        notices.add(notice);
        noticed.run();
    }

    /**
     * Fails all links, ends all transfers with {@link FetchStatus#CLOSED} and destroys all queue pairs. The shard's
     * thread ends after it.
     *
     * @throws VerbsException if a queue pair could not be destroyed, after all others were: memory must stay mapped
     *     then
     */
    public void close() {
        closed = true;
        runCommands();
        try {
            links.close();
            messages.deliver();
        } finally {
            fetchers.close();
        }
    }
}
