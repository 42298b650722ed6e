package io.farpage.agent.control.guest;

import org.HdrHistogram.Histogram;
import org.HdrHistogram.SingleWriterRecorder;
import org.jspecify.annotations.Nullable;

/** The totals of a latency recorder since its start. Thread-safe. */
public final class LatencyTotals {
    private final SingleWriterRecorder recorder;
    private final Histogram total = new Histogram(3);
    private @Nullable Histogram interval;
    /** Since the last call of {@link #recent}; null before the first, so that totals that are not asked for it keep one histogram. */
    private @Nullable Histogram recent;

    public LatencyTotals(SingleWriterRecorder recorder) {
        this.recorder = recorder;
    }

    /** A copy of the totals, nanoseconds. */
    public synchronized Histogram sample() {
        collect();
        return total.copy();
    }

    /** What was recorded since the last call, nanoseconds; at the first call all. For one caller. */
    public synchronized Histogram recent() {
        collect();
        Histogram last = recent == null ? total.copy() : recent;
        recent = new Histogram(total.getNumberOfSignificantValueDigits());
        return last;
    }

    private void collect() {
        interval = recorder.getIntervalHistogram(interval);
        total.add(interval);
        if (recent != null) {
            recent.add(interval);
        }
    }
}
