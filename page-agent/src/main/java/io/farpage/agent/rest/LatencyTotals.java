package io.farpage.agent.rest;

import org.HdrHistogram.Histogram;
import org.HdrHistogram.SingleWriterRecorder;
import org.jspecify.annotations.Nullable;

/** All that a recorder has recorded since the start, brought up to date when asked. Thread-safe. */
final class LatencyTotals {
    private final SingleWriterRecorder recorder;
    private final Histogram total = new Histogram(3);
    private @Nullable Histogram interval;

    LatencyTotals(SingleWriterRecorder recorder) {
        this.recorder = recorder;
    }

    /** A copy of the totals, nanoseconds. */
    synchronized Histogram sample() {
        interval = recorder.getIntervalHistogram(interval);
        total.add(interval);
        return total.copy();
    }
}
