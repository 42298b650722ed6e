package io.farpage.bench.node;

import com.sun.management.OperatingSystemMXBean;
import com.sun.management.ThreadMXBean;
import io.farpage.agent.data.seal.PageSeal;
import io.farpage.agent.data.shard.DutyCycle;
import io.farpage.agent.data.shard.FetchStatus;
import io.farpage.agent.data.shard.Fetcher;
import io.farpage.agent.data.shard.Priority;
import io.farpage.bench.pattern.PageNumbers;
import io.farpage.guest.content.PageContent;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.management.ManagementFactory;
import java.util.concurrent.CompletableFuture;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.SingleWriterRecorder;
import org.jspecify.annotations.Nullable;

/**
 * Carries out errands on a shard's thread, one at a time: keeps a window of transfers under way and checks each page
 * once its latency has been taken. As the C baseline does, it asks for half a window at a time, so that requests share
 * a send and replies a receive. Allocates nothing between the beginning and the end of a workload.
 *
 * <p>Sealed pages are opened where they arrive, and a page that does not open is a wrong one. Their latency includes
 * that.
 *
 * <p>There is no think time: a stall delays the next request rather than being counted against those that would have
 * been sent meanwhile (coordinated omission).
 */
final class FetchWorkload implements DutyCycle {
    private static final ValueLayout.OfLong WORD = ValueLayout.JAVA_LONG;
    private static final long HIGHEST_LATENCY_NANOS = 100_000_000_000L;

    private final OperatingSystemMXBean process = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
    private final ThreadMXBean threads = ManagementFactory.getPlatformMXBean(ThreadMXBean.class);

    private final Fetcher fetcher;
    private final Home home;
    private final MemorySegment staging;
    private final long seed;
    private final int pageSize;

    private final @Nullable PageSeal seal;
    private final SingleWriterRecorder latency;
    private final long[] startedAtOf;

    private final int[] freeBuffers;
    private final int[] bufferOf;
    private final long[] pageOf;
    private int freeCount;

    private @Nullable Workload workload;
    private @Nullable CompletableFuture<Outcome> result;
    private @Nullable Histogram latencies;
    private long target;
    private long issued;
    private long succeeded;
    private int underWay;
    private long mismatches;
    private long firstWrongPage;
    private long firstWrongOffset;
    private @Nullable FetchStatus failure;
    private long failedPage;
    private long startedAt;
    private long startedCpu;
    private long startedReplays;
    private long startedBytes;

    /**
     * @param fetcher of the shard; this takes all its slots
     * @param staging a page for each slot
     * @param seed of the pages' content
     * @param seal of the pages, if the home is to hold them sealed
     */
    FetchWorkload(Fetcher fetcher, Home home, MemorySegment staging, long seed, @Nullable PageSeal seal) {
        this.fetcher = fetcher;
        this.home = home;
        this.staging = staging;
        this.seed = seed;
        this.pageSize = home.pageSize();
        this.seal = seal;
        latency = seal == null ? fetcher.readLatency() : new SingleWriterRecorder(HIGHEST_LATENCY_NANOS, 3);
        int capacity = fetcher.capacity();
        startedAtOf = new long[capacity];
        freeBuffers = new int[capacity];
        bufferOf = new int[capacity];
        pageOf = new long[capacity];
        for (int i = 0; i < capacity; i++) {
            freeBuffers[i] = i;
        }
        freeCount = capacity;
    }

    /** Begins a workload. On the shard's thread, when the one before has ended. */
    void begin(Workload next, CompletableFuture<Outcome> whenDone) {
        if (workload != null || next.window() > fetcher.capacity()) {
            whenDone.completeExceptionally(
                    new IllegalStateException("busy, or a window of " + next.window() + " is too wide"));
            return;
        }
        workload = next;
        result = whenDone;
        target = next.count();
        issued = 0;
        succeeded = 0;
        mismatches = 0;
        failure = null;
        latencies = latency.getIntervalHistogram(latencies);
        startedReplays = fetcher.replays().get();
        startedCpu = process.getProcessCpuTime();
        startedBytes = threads.getCurrentThreadAllocatedBytes();
        startedAt = System.nanoTime();
    }

    @Override
    public int doWork() {
        Workload current = workload;
        if (current == null) {
            return 0;
        }
        int work = takeDone(current) + issue(current);
        if (underWay == 0 && issued == target) {
            finish();
            work++;
        }
        return work;
    }

    @Override
    public boolean isQuiescent() {
        return true;
    }

    private int takeDone(Workload current) {
        int work = 0;
        for (int slot = fetcher.poll(); slot != Fetcher.NONE; slot = fetcher.poll()) {
            work++;
            underWay--;
            FetchStatus status = fetcher.status(slot);
            fetcher.release(slot);
            int buffer = bufferOf[slot];
            freeBuffers[freeCount++] = buffer;
            if (status != FetchStatus.OK) {
                fail(status, pageOf[slot]);
                continue;
            }
            succeeded++;
            if (!current.isWrite() && open(slot, buffer)) {
                check(current, buffer, pageOf[slot]);
            }
        }
        return work;
    }

    private void fail(FetchStatus status, long page) {
        if (failure == null) {
            failure = status;
            failedPage = page;
        }
        target = issued;
    }

    /** Opens a sealed page; whether the page is one that can be checked. */
    private boolean open(int slot, int buffer) {
        PageSeal opening = seal;
        if (opening == null) {
            return true;
        }
        long address = addressOf(buffer);
        boolean opened = opening.open((int) pageOf[slot], address, address);
        latency.recordValue(Math.min(System.nanoTime() - startedAtOf[slot], HIGHEST_LATENCY_NANOS));
        if (!opened) {
            mismatch(pageOf[slot], 0);
        }
        return opened;
    }

    private void mismatch(long page, long offset) {
        if (mismatches++ == 0) {
            firstWrongPage = page;
            firstWrongOffset = offset;
        }
    }

    private void check(Workload current, int buffer, long page) {
        long address = addressOf(buffer);
        long wrong = switch (current.verification()) {
            case NONE -> -1;
            case ENDS -> PageContent.verifyEndsAt(address, pageSize, seed, page);
            case FULL -> PageContent.verifyAt(address, pageSize, seed, page);
        };
        if (wrong >= 0) {
            mismatch(page, wrong);
        }
    }

    private int issue(Workload current) {
        int room = current.window() - underWay;
        long left = target - issued;
        if (left == 0 || room == 0 || (room < (current.window() + 1) / 2 && room < left)) {
            return 0;
        }
        if (left > 0 && current.nanos() != Long.MAX_VALUE && System.nanoTime() - startedAt >= current.nanos()) {
            target = issued;
            return 1;
        }
        int count = (int) Math.min(room, left);
        PageNumbers numbers = current.numbers();
        for (int i = 0; i < count; i++) {
            start(current, numbers.next());
        }
        issued += count;
        return count;
    }

    private void start(Workload current, long page) {
        int buffer = freeBuffers[--freeCount];
        long address = addressOf(buffer);
        int slot;
        if (current.isWrite()) {
            PageContent.fillAt(address, pageSize, seed, page);
            if (seal != null) {
                seal.seal((int) page, address, address);
            }
            slot = fetcher.write(home.link(), home.incarnation(), home.offsetOf(page), pageSize, address);
        } else {
            spoil(buffer);
            long started = System.nanoTime();
            slot = fetcher.read(
                    Priority.DEMAND, home.link(), home.incarnation(), home.offsetOf(page), pageSize, address);
            startedAtOf[slot] = started;
        }
        pageOf[slot] = page;
        bufferOf[slot] = buffer;
        underWay++;
    }

    /** Changes the first and the last word, so that the check notices a page that was not transferred. */
    private void spoil(int buffer) {
        long at = (long) buffer * pageSize;
        long last = at + pageSize - WORD.byteSize();
        staging.set(WORD, at, ~staging.get(WORD, at));
        staging.set(WORD, last, ~staging.get(WORD, last));
    }

    private long addressOf(int buffer) {
        return staging.address() + (long) buffer * pageSize;
    }

    private void finish() {
        long elapsed = System.nanoTime() - startedAt;
        long allocated = threads.getCurrentThreadAllocatedBytes() - startedBytes;
        long cpu = process.getProcessCpuTime() - startedCpu;
        Histogram taken = latency.getIntervalHistogram(latencies);
        CompletableFuture<Outcome> whenDone = result;
        workload = null;
        result = null;
        latencies = null;
        if (whenDone != null) {
            whenDone.complete(new Outcome(
                    succeeded,
                    mismatches,
                    mismatches == 0 ? "" : "page %d at byte %d".formatted(firstWrongPage, firstWrongOffset),
                    elapsed,
                    allocated,
                    cpu,
                    fetcher.replays().get() - startedReplays,
                    taken,
                    failureText()));
        }
    }

    private String failureText() {
        if (failure == null) {
            return "";
        }
        String why = home.link().lastFailure();
        return "page %d of %s: %s%s"
                .formatted(failedPage, home.link().peer(), failure, why.isEmpty() ? "" : "; the link failed: " + why);
    }
}
