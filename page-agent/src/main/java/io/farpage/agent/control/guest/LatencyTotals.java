package io.farpage.agent.control.guest;

import org.HdrHistogram.Histogram;
import org.HdrHistogram.SingleWriterRecorder;
import org.jspecify.annotations.Nullable;

/** The totals of a latency recorder since its start. Thread-safe. */
public final class LatencyTotals {
    private final SingleWriterRecorder recorder;
    private final Histogram total = new Histogram(3);
    private @Nullable Histogram interval;

    public LatencyTotals(SingleWriterRecorder recorder) {
        this.recorder = recorder;
    }

    /** A copy of the totals, nanoseconds. */
    public synchronized Histogram sample() {
        interval = recorder.getIntervalHistogram(interval);
        total.add(interval);
        return total.copy();
    }
}
