package io.farpage.agent.data.pager.memory;

import io.farpage.agent.data.shard.Counter;
import org.HdrHistogram.SingleWriterRecorder;
import org.jspecify.annotations.Nullable;

/** Counters and latencies of a pager. Its thread writes; any thread may read, and sample the recorders. */
public final class PagerCounters {
    private static final long HIGHEST_NANOS = 100_000_000_000L;
    /** Latencies are exact to a hundredth. A third digit would take seven times as much heap for each guest. */
    private static final int DIGITS = 2;

    private final Counter fetched = new Counter();
    private final Counter victims = new Counter();
    private final Counter zeros = new Counter();
    private final Counter writeProtect = new Counter();
    private final Counter repeated = new Counter();
    private final Counter removed = new Counter();
    private final Counter waits = new Counter();
    private final Counter prefetched = new Counter();
    private final Counter lost = new Counter();
    private final Counter integrityFailures = new Counter();
    private final Counter evictions = new Counter();
    private final Counter writtenBack = new Counter();
    private final Counter elided = new Counter();
    private final Counter foreign = new Counter();
    private final Counter hedged = new Counter();
    private final Counter repaired = new Counter();
    private final SingleWriterRecorder fault = new SingleWriterRecorder(HIGHEST_NANOS, DIGITS);
    private final SingleWriterRecorder fetch = new SingleWriterRecorder(HIGHEST_NANOS, DIGITS);
    private final SingleWriterRecorder install = new SingleWriterRecorder(HIGHEST_NANOS, DIGITS);

    /** Null while faults are not traced. */
    private volatile @Nullable FaultTrace trace;

    public PagerCounters() {}

    /** Faults of pages that had to be fetched. */
    public Counter fetched() {
        return fetched;
    }

    /** Faults of pages that the victim cache had. */
    public Counter victims() {
        return victims;
    }

    /** Faults of pages of zeros, which need no fetch. */
    public Counter zeros() {
        return zeros;
    }

    /** Faults of stores to clean pages. */
    public Counter writeProtect() {
        return writeProtect;
    }

    /** Faults of pages that were resident or being fetched already. */
    public Counter repeated() {
        return repeated;
    }

    /** Pages that the guest gave up, as a balloon does. */
    public Counter removed() {
        return removed;
    }

    /** Faults that had to wait for the limit, a slot or staging frames. */
    public Counter waits() {
        return waits;
    }

    /** Pages of an encrypted space that came from their home other than they were sealed last. Each is lost. */
    public Counter integrityFailures() {
        return integrityFailures;
    }

    /** Pages prefetched. */
    public Counter prefetched() {
        return prefetched;
    }

    /** Pages lost with their homes. */
    public Counter lost() {
        return lost;
    }

    /** Pages evicted. */
    public Counter evictions() {
        return evictions;
    }

    /** Pages written to their homes, to be evicted. */
    public Counter writtenBack() {
        return writtenBack;
    }

    /** Pages evicted without a write because they were zeros. */
    public Counter elided() {
        return elided;
    }

    /** Pages at their homes that the memory file had although the agent had not installed them. */
    public Counter foreign() {
        return foreign;
    }

    /** READs that took so long that another home was asked as well. */
    public Counter hedged() {
        return hedged;
    }

    /** Pages copied to homes that join. */
    public Counter repaired() {
        return repaired;
    }

    /** All faults. */
    public long faults() {
        return fetched.get() + victims.get() + zeros.get() + writeProtect.get() + repeated.get();
    }

    /** From reading the fault to having installed the page, nanoseconds; of fetched pages. */
    public SingleWriterRecorder fault() {
        return fault;
    }

    /** The part of it until the page had arrived, nanoseconds. */
    public SingleWriterRecorder fetch() {
        return fetch;
    }

    /** The part of it after the page had arrived, nanoseconds. */
    public SingleWriterRecorder install() {
        return install;
    }

    /** Starts the tracing of faults. Any thread. */
    public void traceFaults(FaultTrace into) {
        trace = into;
    }

    public void recordFault(int page, long seenAt, long arrivedAt, long now) {
        fault.recordValue(clamp(now - seenAt));
        fetch.recordValue(clamp(arrivedAt - seenAt));
        install.recordValue(clamp(now - arrivedAt));
        FaultTrace traced = trace;
        if (traced != null) {
            traced.record(page, seenAt, arrivedAt, now);
        }
    }

    private static long clamp(long nanos) {
        return Math.max(0, Math.min(nanos, HIGHEST_NANOS));
    }
}
