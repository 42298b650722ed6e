package io.farpage.agent.control.guest;

import org.HdrHistogram.Histogram;
import org.HdrHistogram.SingleWriterRecorder;
import org.jspecify.annotations.Nullable;

/** All that a recorder has recorded since the start, brought up to date when asked. Thread-safe. */
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
