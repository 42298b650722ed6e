package io.farpage.agent.control.latency;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.SingleWriterRecorder;
import org.jspecify.annotations.Nullable;

/**
 * The totals of a latency recorder since its start. Thread-safe. A recorder has one of these: what is collected here is
 * gone from it.
 */
public final class LatencyTotals {
    private static final AtomicLong IDS = new AtomicLong();

    private final long id = IDS.incrementAndGet();
    private final SingleWriterRecorder recorder;
    private final Histogram total = new Histogram(3);
    private final List<Interval> intervals = new CopyOnWriteArrayList<>();
    private @Nullable Histogram collected;
    /**
     * The interval of {@link #recent}; null before its first call, so that totals without a caller of it keep one
     * histogram.
     */
    private @Nullable Interval recent;

    public LatencyTotals(SingleWriterRecorder recorder) {
        this.recorder = recorder;
    }

    /** Differs from that of all other totals of this process. */
    public long id() {
        return id;
    }

    /** A copy of the totals, nanoseconds. */
    public synchronized Histogram sample() {
        collect();
        return total.copy();
    }

    /**
     * What was recorded since the last call, nanoseconds; at the first call all. For one caller, and valid until its
     * next call.
     */
    public synchronized Histogram recent() {
        if (recent == null) {
            recent = interval();
        }
        return recent.take();
    }

    /** Begins intervals for one more caller. The first one has all that was recorded before. */
    public synchronized Interval interval() {
        collect();
        Interval interval = new Interval(total.copy());
        intervals.add(interval);
        return interval;
    }

    private void collect() {
        collected = recorder.getIntervalHistogram(collected);
        total.add(collected);
        for (Interval interval : intervals) {
            interval.pending.add(collected);
        }
    }

    /** What is recorded between two calls of one caller. */
    public final class Interval implements AutoCloseable {
        private Histogram pending;
        private Histogram taken = new Histogram(total.getNumberOfSignificantValueDigits());

        private Interval(Histogram pending) {
            this.pending = pending;
        }

        /** What was recorded since the last call, nanoseconds. Valid until the next call. */
        public Histogram take() {
            synchronized (LatencyTotals.this) {
                collect();
                Histogram last = pending;
                taken.reset();
                pending = taken;
                taken = last;
                return last;
            }
        }

        /** Ends the intervals. */
        @Override
        public void close() {
            intervals.remove(this);
        }
    }
}
