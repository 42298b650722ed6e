package io.farpage.bench.agents;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.Recorder;

/** What the agents of a run have measured, in microseconds. Thread-safe. */
final class Measures {
    private static final long LONGEST_MICROS = TimeUnit.MINUTES.toMicros(10);
    private static final int DIGITS = 3;

    final Timer heartbeats = new Timer();

    /** Requests to a handler that does nothing. */
    final Timer control = new Timer();

    final Timer changes = new Timer();
    final Timer events = new Timer();
    final Timer failures = new Timer();
    final Timer links = new Timer();
    final Timer attachments = new Timer();
    final AtomicLong refused = new AtomicLong();

    /** Durations of one kind. */
    static final class Timer {
        private final Recorder recorder = new Recorder(LONGEST_MICROS, DIGITS);

        void record(long nanos) {
            recorder.recordValue(Math.clamp(TimeUnit.NANOSECONDS.toMicros(nanos), 0, LONGEST_MICROS));
        }

        /** What was recorded since the last call. */
        Histogram take() {
            return recorder.getIntervalHistogram();
        }
    }

    static String text(Histogram h) {
        if (h.getTotalCount() == 0) {
            return "none";
        }
        return "p50 %.1f  p99 %.1f  p99.9 %.1f  max %.1f ms, of %d"
                .formatted(
                        millis(h.getValueAtPercentile(50)),
                        millis(h.getValueAtPercentile(99)),
                        millis(h.getValueAtPercentile(99.9)),
                        millis(h.getMaxValue()),
                        h.getTotalCount());
    }

    static double millis(long micros) {
        return micros / 1_000.0;
    }
}
