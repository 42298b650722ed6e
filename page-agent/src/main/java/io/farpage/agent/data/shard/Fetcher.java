package io.farpage.agent.data.shard;

import io.farpage.verbs.WcStatus;
import java.util.Arrays;
import org.HdrHistogram.SingleWriterRecorder;

/**
 * Moves pages between staging frames and their homes, a bounded number at a time. A transfer survives the loss of its
 * link: it is posted again when the link is back, until its deadline. So does one whose range the home has not granted
 * yet, and one whose home has another pool than the transfer names: that its pages are lost, or have another home now,
 * is for the caller to know.
 *
 * <p>A caller acquires a slot with {@link #read} or {@link #write}, gets completed slots from {@link #poll()}, checks
 * their {@link #status} and frees them with {@link #release}. It has at most one transfer of a page under way, and does
 * not touch the staging bytes until it has completed.
 *
 * <p>Belongs to its shard's thread. Allocates nothing.
 */
public final class Fetcher {
    /** No slot. */
    public static final int NONE = -1;

    private static final byte FREE = 0;
    private static final byte POSTED = 1;
    private static final byte PARKED = 2;
    private static final byte DONE = 3;
    private static final byte REFUSED = 4;
    /** As PARKED, for less bulk to be under way on a link that is up: what is under way has a deadline. */
    private static final byte WAITING = 5;

    private static final int MAX_REFUSALS = 2;
    /** A refused request fails its link. A source that repeats it fails the link at most once in this time. */
    private static final long REFUSAL_PAUSE_NANOS = 1_000_000_000L;

    private static final long HIGHEST_LATENCY_NANOS = 100_000_000_000L;
    /** Latencies are exact to a hundredth: each pager has a fetcher, and a third digit would take much of its heap. */
    private static final int LATENCY_DIGITS = 2;

    private final Shard shard;
    private final int index;
    private final int capacity;
    private final KeyUse use;
    private final long deadlineNanos;

    private final byte[] state;
    private final boolean[] isWrite;
    private final Priority[] priority;
    /** Whether a transfer ends when its link breaks or its request is refused, rather than being posted again. */
    private final boolean[] failsFast;
    /** Whether a transfer ends when its link breaks, unless its request was refused. */
    private final boolean[] endsWithLink;

    private final PeerLink[] link;
    private final long[] pool;
    /** Incarnation of the home that granted the key. */
    private final long[] grantor;

    private final long[] offset;
    private final int[] length;
    /** The key that a posted transfer shows. */
    private final int[] rkey;

    private final long[] local;
    /** By the clock, for the latency. */
    private final long[] startedAt;
    /** By the shard's {@link SilenceClock}, as {@link #postedAt} and {@link #refusedAt}, for the deadline. */
    private final long[] askedAt;
    /** When it was posted on its present link. */
    private final long[] postedAt;

    private final long[] refusedAt;
    private final int[] refusals;
    private final char[] generation;
    private final FetchStatus[] status;

    private final int[] free;
    private int freeCount;
    private final int[] done;
    private int doneHead;
    private int doneCount;
    /** Transfers that are PARKED or WAITING. */
    private int parked;
    /** Where the search for parked transfers begins, so that each has its turn. */
    private int nextParked;

    private final SingleWriterRecorder readLatency = new SingleWriterRecorder(HIGHEST_LATENCY_NANOS, LATENCY_DIGITS);
    private final SingleWriterRecorder writeLatency = new SingleWriterRecorder(HIGHEST_LATENCY_NANOS, LATENCY_DIGITS);
    private final Counter pagesRead = new Counter();
    private final Counter pagesWritten = new Counter();
    private final Counter bytesRead = new Counter();
    private final Counter bytesWritten = new Counter();
    private final Counter failures = new Counter();
    private final Counter replays = new Counter();

    Fetcher(Shard shard, int index, int capacity, long deadlineNanos, KeyUse use) {
        this.use = use;
        this.shard = shard;
        this.index = index;
        this.capacity = capacity;
        this.deadlineNanos = deadlineNanos;
        state = new byte[capacity];
        isWrite = new boolean[capacity];
        priority = new Priority[capacity];
        Arrays.fill(priority, Priority.DEMAND);
        failsFast = new boolean[capacity];
        endsWithLink = new boolean[capacity];
        link = new PeerLink[capacity];
        pool = new long[capacity];
        grantor = new long[capacity];
        offset = new long[capacity];
        length = new int[capacity];
        rkey = new int[capacity];
        local = new long[capacity];
        startedAt = new long[capacity];
        askedAt = new long[capacity];
        postedAt = new long[capacity];
        refusedAt = new long[capacity];
        refusals = new int[capacity];
        generation = new char[capacity];
        status = new FetchStatus[capacity];
        Arrays.fill(status, FetchStatus.PENDING);
        free = new int[capacity];
        for (int i = 0; i < capacity; i++) {
            free[i] = capacity - 1 - i;
        }
        freeCount = capacity;
        done = new int[capacity];
    }

    /** Transfers that may be under way at once. */
    public int capacity() {
        return capacity;
    }

    /** Transfers under way or not yet released. */
    public int inUse() {
        return capacity - freeCount;
    }

    /** The time by which peers are judged. */
    public SilenceClock silence() {
        return shard.silence();
    }

    /** Whether other fetchers of the shard have transfers under way or not yet released. */
    public boolean othersAreBusy() {
        return shard.isBusyBeside(this);
    }

    /**
     * Reads from a home into staging memory.
     *
     * @param how whether a thread waits for the bytes
     * @param home link to the node that holds the bytes
     * @param homePool the pool of the home that holds them, as extents name it
     * @param homeOffset where they start within the home's exported frames
     * @param bytes number of bytes
     * @param stagingAddress destination within the staging frames of this agent's pool
     * @return a slot, or {@link #NONE} if none is free
     */
    public int read(Priority how, PeerLink home, long homePool, long homeOffset, int bytes, long stagingAddress) {
        return start(how, false, false, false, home, homePool, homeOffset, bytes, stagingAddress);
    }

    /**
     * As {@link #read}; ends with {@link FetchStatus#UNREACHABLE} at once if the link is down or breaks, so that the
     * caller has its staging memory back. A request that the home refuses is posted again, on the next link.
     */
    public int readOverLink(
            Priority how, PeerLink home, long homePool, long homeOffset, int bytes, long stagingAddress) {
        return start(how, false, false, true, home, homePool, homeOffset, bytes, stagingAddress);
    }

    /** As {@link #write}; ends as {@link #readOverLink} does. */
    public int writeOverLink(PeerLink home, long homePool, long homeOffset, int bytes, long stagingAddress) {
        return start(Priority.BULK, true, false, true, home, homePool, homeOffset, bytes, stagingAddress);
    }

    /**
     * As {@link #read}; ends with {@link FetchStatus#UNREACHABLE} at once if the link is down or breaks, since there is
     * another home to read from.
     */
    public int readFailingFast(
            Priority how, PeerLink home, long homePool, long homeOffset, int bytes, long stagingAddress) {
        return start(how, false, true, true, home, homePool, homeOffset, bytes, stagingAddress);
    }

    /** As {@link #write}; ends with {@link FetchStatus#UNREACHABLE} at once if the link is down or breaks. */
    public int writeFailingFast(PeerLink home, long homePool, long homeOffset, int bytes, long stagingAddress) {
        return start(Priority.BULK, true, true, true, home, homePool, homeOffset, bytes, stagingAddress);
    }

    /** Writes back from staging memory to a home; parameters as for {@link #read}. */
    public int write(PeerLink home, long homePool, long homeOffset, int bytes, long stagingAddress) {
        return start(Priority.BULK, true, false, false, home, homePool, homeOffset, bytes, stagingAddress);
    }

    private int start(
            Priority how,
            boolean write,
            boolean failFast,
            boolean overLink,
            PeerLink home,
            long homePool,
            long homeOffset,
            int bytes,
            long address) {
        if (freeCount == 0) {
            return NONE;
        }
        int slot = free[--freeCount];
        priority[slot] = how;
        isWrite[slot] = write;
        failsFast[slot] = failFast;
        endsWithLink[slot] = overLink;
        link[slot] = home;
        pool[slot] = homePool;
        offset[slot] = homeOffset;
        length[slot] = bytes;
        local[slot] = address;
        refusals[slot] = 0;
        status[slot] = FetchStatus.PENDING;
        startedAt[slot] = shard.now();
        askedAt[slot] = shard.silence().read();
        if (shard.isClosed()) {
            finish(slot, FetchStatus.CLOSED);
        } else {
            submit(slot);
        }
        return slot;
    }

    private void submit(int slot) {
        PeerLink home = link[slot];
        if (!home.leadsTo(pool[slot])) {
            if (doesEndWithLink(slot)) {
                finish(slot, FetchStatus.UNREACHABLE);
            } else {
                park(slot);
            }
            return;
        }
        if (bulkBytes(slot) > 0 && !home.hasRoomForBulk()) {
            state[slot] = WAITING;
            parked++;
            return;
        }
        long now = shard.silence().read();
        if (home.prepare(
                use,
                isWrite[slot],
                WrId.of(index, ++generation[slot], slot),
                offset[slot],
                length[slot],
                local[slot],
                now)) {
            rkey[slot] = home.preparedRkey(use);
            grantor[slot] = home.connection().incarnation();
            state[slot] = POSTED;
            postedAt[slot] = now;
            home.bulkPosted(bulkBytes(slot));
            shard.postLater(home);
        } else {
            park(slot);
        }
    }

    /**
     * Whether a transfer is not to wait for another link. One that was refused waits, since the request may be what
     * breaks links.
     */
    private boolean doesEndWithLink(int slot) {
        return failsFast[slot] || (endsWithLink[slot] && refusals[slot] == 0);
    }

    private void refuse(int slot) {
        state[slot] = REFUSED;
        refusedAt[slot] = shard.silence().read();
    }

    private void park(int slot) {
        state[slot] = PARKED;
        parked++;
    }

    /** Whether transfers wait for a link, for a free entry in a send queue, or for less bulk to be under way. */
    boolean hasParked() {
        return parked > 0;
    }

    /** Whether {@link #poll()} has completed slots to return. */
    public boolean hasDone() {
        return doneCount > 0;
    }

    /** Posts parked transfers, as far as possible. Those that still are come first the next time. */
    void retryParked() {
        int begin = nextParked;
        int left = parked;
        boolean isAnyLeft = false;
        for (int i = 0; left > 0 && i < capacity; i++) {
            int slot = begin + i < capacity ? begin + i : begin + i - capacity;
            if (isParked(slot)) {
                left--;
                parked--;
                submit(slot);
                if (!isAnyLeft && isParked(slot)) {
                    isAnyLeft = true;
                    nextParked = slot;
                }
            }
        }
    }

    private boolean isParked(int slot) {
        return state[slot] == PARKED || state[slot] == WAITING;
    }

    /** A thread waits for the bytes of a transfer that began as bulk. */
    public void hurry(int slot) {
        if (state[slot] == WAITING) {
            priority[slot] = Priority.DEMAND;
            parked--;
            submit(slot);
        }
    }

    /** Bytes of a transfer that count as bulk: none if a thread waits for them. */
    int bulkBytes(int slot) {
        return priority[slot] == Priority.BULK ? length[slot] : 0;
    }

    /**
     * Ends transfers whose deadline has passed: a parked one at once, a posted one by failing its link, since the
     * device may still access the memory. A link has the whole of that time for what is posted on it, however long the
     * transfer was parked before. Ends refused transfers after a pause, and at their deadline at the latest.
     *
     * @param nowNanos by the shard's {@link SilenceClock}; what has completed before was handled
     */
    void expire(long nowNanos) {
        if (inUse() == doneCount) {
            return;
        }
        for (int slot = 0; slot < capacity; slot++) {
            if (state[slot] == PARKED && nowNanos - askedAt[slot] > deadlineNanos) {
                parked--;
                finish(slot, refusals[slot] > 0 ? FetchStatus.REFUSED : FetchStatus.DEADLINE);
            } else if (state[slot] == POSTED && nowNanos - postedAt[slot] > deadlineNanos) {
                shard.failLink(link[slot], "a transfer was not answered within its deadline");
            } else if (state[slot] == REFUSED
                    && (nowNanos - refusedAt[slot] > REFUSAL_PAUSE_NANOS || nowNanos - askedAt[slot] > deadlineNanos)) {
                finish(slot, FetchStatus.REFUSED);
            }
        }
    }

    /**
     * Whether a completion with this generation is of the transfer now in {@code slot}, rather than of an earlier one.
     */
    boolean isPosted(int slot, char postedGeneration) {
        return state[slot] == POSTED && generation[slot] == postedGeneration;
    }

    /** Completes a posted transfer. */
    void complete(int slot, WcStatus how) {
        if (how == WcStatus.SUCCESS) {
            recordSuccess(slot);
            finish(slot, FetchStatus.OK);
            return;
        }
        if (isRefusal(how) && ++refusals[slot] >= MAX_REFUSALS) {
            refuse(slot);
            return;
        }
        if (doesEndWithLink(slot)) {
            finish(slot, FetchStatus.UNREACHABLE);
            return;
        }
        replays.add(1);
        park(slot);
    }

    /**
     * Ends a transfer that is no longer wanted: at once if nothing of it is posted, otherwise by failing its link,
     * since the device may still access the memory. The slot completes as any other.
     */
    public void giveUp(int slot, String why) {
        withdraw(slot);
        if (state[slot] == POSTED) {
            shard.failLink(link[slot], why);
        }
    }

    /**
     * Stops posting work requests of a transfer. What is posted may complete, and ends with its link otherwise; the
     * link is not failed for it.
     */
    public void withdraw(int slot) {
        failsFast[slot] = true;
        if (isParked(slot)) {
            parked--;
            finish(slot, FetchStatus.UNREACHABLE);
        } else if (state[slot] == REFUSED) {
            finish(slot, FetchStatus.REFUSED);
        }
    }

    /** The home has refused the key for a transfer's range. The transfer waits for another grant then. */
    void grantRefused(int slot) {
        PeerLink home = link[slot];
        home.grantRefused(use, offset[slot], length[slot], rkey[slot]);
        shard.grantRefused(new ShardNotice.GrantRefused(home, grantor[slot], offset[slot], rkey[slot]));
    }

    /** Whether a status means that the request was wrong, rather than that the link broke. */
    static boolean isRefusal(WcStatus how) {
        return switch (how) {
            case REM_ACCESS_ERR, REM_INV_REQ_ERR, REM_INV_RD_REQ_ERR, LOC_PROT_ERR, LOC_LEN_ERR, LOC_QP_OP_ERR -> true;
            default -> false;
        };
    }

    /** Parks transfers that were posted on a link whose queue pair was destroyed before they completed. */
    void reclaim(PeerLink gone) {
        for (int slot = 0; slot < capacity; slot++) {
            if (state[slot] == POSTED && link[slot] == gone) {
                if (doesEndWithLink(slot)) {
                    finish(slot, FetchStatus.UNREACHABLE);
                    continue;
                }
                replays.add(1);
                park(slot);
            }
        }
    }

    /** Ends all parked transfers, before closing. */
    void close() {
        for (int slot = 0; slot < capacity; slot++) {
            if (isParked(slot)) {
                parked--;
                finish(slot, FetchStatus.CLOSED);
            } else if (state[slot] == REFUSED) {
                finish(slot, FetchStatus.CLOSED);
            }
        }
    }

    private void recordSuccess(int slot) {
        long nanos = Math.min(shard.now() - startedAt[slot], HIGHEST_LATENCY_NANOS);
        if (isWrite[slot]) {
            writeLatency.recordValue(nanos);
            pagesWritten.add(1);
            bytesWritten.add(length[slot]);
        } else {
            readLatency.recordValue(nanos);
            pagesRead.add(1);
            bytesRead.add(length[slot]);
        }
    }

    private void finish(int slot, FetchStatus how) {
        state[slot] = DONE;
        status[slot] = how;
        if (how != FetchStatus.OK) {
            failures.add(1);
        }
        int tail = doneHead + doneCount;
        done[tail < capacity ? tail : tail - capacity] = slot;
        doneCount++;
    }

    /** The next completed slot, or {@link #NONE}. */
    public int poll() {
        if (doneCount == 0) {
            return NONE;
        }
        int slot = done[doneHead];
        doneHead = doneHead + 1 == capacity ? 0 : doneHead + 1;
        doneCount--;
        return slot;
    }

    /** How the transfer in {@code slot} ended. */
    public FetchStatus status(int slot) {
        return status[slot];
    }

    /** Link that the transfer in {@code slot} went over. */
    public PeerLink home(int slot) {
        return link[slot];
    }

    /** Frees a slot that {@link #poll()} returned. */
    public void release(int slot) {
        if (state[slot] != DONE) {
            throw new IllegalStateException("slot " + slot + " is not done");
        }
        state[slot] = FREE;
        free[freeCount++] = slot;
    }

    /**
     * Latency of reads that succeeded, nanoseconds from {@link #read} to completion, waiting for a link included. Any
     * thread may sample.
     */
    public SingleWriterRecorder readLatency() {
        return readLatency;
    }

    /** Latency of writes that succeeded. */
    public SingleWriterRecorder writeLatency() {
        return writeLatency;
    }

    public Counter pagesRead() {
        return pagesRead;
    }

    public Counter pagesWritten() {
        return pagesWritten;
    }

    public Counter bytesRead() {
        return bytesRead;
    }

    public Counter bytesWritten() {
        return bytesWritten;
    }

    /** Transfers that ended with another status than {@link FetchStatus#OK}. */
    public Counter failures() {
        return failures;
    }

    /** Transfers that were parked because their link broke, to be posted again. */
    public Counter replays() {
        return replays;
    }
}
