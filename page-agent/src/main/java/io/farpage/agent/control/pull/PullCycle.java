package io.farpage.agent.control.pull;

import io.farpage.agent.data.shard.DutyCycle;
import io.farpage.agent.data.shard.FetchStatus;
import io.farpage.agent.data.shard.Fetcher;
import io.farpage.agent.data.shard.PeerLink;
import io.farpage.agent.data.shard.Priority;
import io.farpage.pool.PagePool;
import io.farpage.pool.frames.FrameAllocator;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Reads the chunks of {@link Pull}s to staging frames and copies them into the pool from there, so that nothing is
 * written to the pool after a pull was stopped, whatever is still under way. The pulls are done in the order in which
 * they began, two chunks at a time, and one while other sources of the shard have transfers under way: these go first.
 * The shard's thread only.
 */
final class PullCycle implements DutyCycle {
    /** Chunks under way at a time. */
    static final int RUNS = 2;

    /** What may be copied at once after a pause, as time at the given rate. */
    static final long BURST_NANOS = 10_000_000L;

    private final Fetcher fetcher;
    private final PagePool pool;
    private final LongSupplier clock;
    private final Runnable copied;
    private final double nanosPerByte;
    private final List<Pull> pulls = new ArrayList<>();
    private final Run[] runs = new Run[RUNS];
    private long nextAt;
    /** Whether a chunk was copied within the pool in this duty cycle: the shard has other work, too. */
    private boolean hasCopied;

    /** A chunk under way, in the slot of the same number. */
    private static final class Run {
        private @Nullable Pull pull;
        private int chunk;
        private int frame;
    }

    /**
     * @param fetcher of {@link #RUNS} slots
     * @param bytesPerSecond at most
     * @param copied called when a pull is done; must not wait
     */
    PullCycle(Fetcher fetcher, PagePool pool, long bytesPerSecond, LongSupplier clock, Runnable copied) {
        this.fetcher = fetcher;
        this.pool = pool;
        this.clock = clock;
        this.copied = copied;
        nanosPerByte = 1e9 / bytesPerSecond;
        nextAt = clock.getAsLong();
        for (int i = 0; i < RUNS; i++) {
            runs[i] = new Run();
        }
    }

    void begin(Pull pull) {
        pulls.add(pull);
    }

    /** Nothing is written to the target of a pull from now on. */
    void stop(Pull pull) {
        pull.stop();
        pulls.remove(pull);
    }

    @Override
    public int doWork() {
        int work = finishDone();
        if (pulls.isEmpty()) {
            return work;
        }
        long now = clock.getAsLong();
        hasCopied = false;
        while (now - nextAt >= 0 && !hasCopied && mayStart() && start(now)) {
            work++;
        }
        return work;
    }

    private boolean mayStart() {
        return fetcher.inUse() < (fetcher.othersAreBusy() ? 1 : RUNS);
    }

    /** Starts to read the next chunk that can be read. */
    private boolean start(long now) {
        for (int i = 0; i < pulls.size(); i++) {
            Pull pull = pulls.get(i);
            int chunk = pull.next();
            if (chunk == Pull.NONE) {
                continue;
            }
            Pull.Source source = pull.readable(chunk);
            if (source == null) {
                pull.block(now);
                continue;
            }
            return start(pull, chunk, source, now);
        }
        return false;
    }

    private boolean start(Pull pull, int chunk, Pull.Source source, long now) {
        int bytes = pull.target().bytes(chunk);
        PeerLink link = source.link();
        if (link == null) {
            copy(pull, chunk, source);
            nextAt = Math.max(nextAt, now - BURST_NANOS) + (long) (bytes * nanosPerByte);
            return true;
        }
        int frame = pool.stagingFrames().allocateRun(frames(bytes));
        if (frame == FrameAllocator.NONE) {
            return false;
        }
        int slot = fetcher.readFailingFast(
                Priority.BULK,
                link,
                source.pool(),
                source.offset() + pull.start(chunk),
                bytes,
                staging(frame, bytes).address());
        Run run = runs[slot];
        run.pull = pull;
        run.chunk = chunk;
        run.frame = frame;
        pull.begin(chunk);
        nextAt = Math.max(nextAt, now - BURST_NANOS) + (long) (bytes * nanosPerByte);
        return true;
    }

    /** Copies a chunk that is in the pool of this node. */
    private void copy(Pull pull, int chunk, Pull.Source source) {
        hasCopied = true;
        pull.begin(chunk);
        int bytes = pull.target().bytes(chunk);
        long from = source.offset() + pull.start(chunk);
        long at = pull.target().offset() + pull.start(chunk);
        MemorySegment.copy(pool.exported(), from, pool.exported(), at, bytes);
        arrived(pull);
    }

    private int finishDone() {
        int work = 0;
        for (int slot = fetcher.poll(); slot != Fetcher.NONE; slot = fetcher.poll()) {
            FetchStatus status = fetcher.status(slot);
            fetcher.release(slot);
            finish(runs[slot], status);
            work++;
        }
        return work;
    }

    private void finish(Run run, FetchStatus status) {
        Pull pull = Objects.requireNonNull(run.pull);
        run.pull = null;
        int bytes = pull.target().bytes(run.chunk);
        if (pull.isStopped()) {
            free(run, bytes);
            return;
        }
        if (status != FetchStatus.OK) {
            free(run, bytes);
            pull.failed(run.chunk, clock.getAsLong());
            nextAt = Math.max(nextAt, clock.getAsLong() + BURST_NANOS);
            return;
        }
        long at = pull.target().offset() + pull.start(run.chunk);
        MemorySegment.copy(staging(run.frame, bytes), 0, pool.exported(), at, bytes);
        free(run, bytes);
        arrived(pull);
    }

    private void arrived(Pull pull) {
        if (pull.arrived()) {
            pulls.remove(pull);
            copied.run();
        }
    }

    private void free(Run run, int bytes) {
        pool.stagingFrames().freeRun(run.frame, frames(bytes));
    }

    private int frames(int bytes) {
        return Math.ceilDiv(bytes, pool.frameBytes());
    }

    private MemorySegment staging(int frame, int bytes) {
        return pool.staging().asSlice(pool.offset(frame), bytes);
    }

    @Override
    public boolean isBackground() {
        return true;
    }

    /** All that can be started has been. */
    @Override
    public boolean isQuiescent() {
        return true;
    }

    @Override
    public boolean waitsForTime() {
        return !pulls.isEmpty();
    }

    @Override
    public String toString() {
        return "the pulls of this node";
    }
}
