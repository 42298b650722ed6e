package io.farpage.coordinator.figures;

import io.farpage.coordinator.model.FaultFigures;
import io.farpage.coordinator.model.FaultHistory;
import java.util.ArrayList;
import java.util.List;

/** The latest samples of a node or guest: 4,608 bytes. For one thread at a time. */
final class History {
    /** A few more than an agent reports in the time that is kept. */
    static final int SAMPLES = 192;

    private static final int FIGURES = 5;

    /** Seconds since 1970, as an unsigned number. */
    private final int[] at = new int[SAMPLES];

    private final float[] figures = new float[SAMPLES * FIGURES];
    private int next;
    private int size;

    /** Adds a sample. It replaces the oldest if the history is full. */
    void add(long seconds, long millis, FaultFigures of) {
        at[next] = (int) seconds;
        int first = next * FIGURES;
        figures[first] = 1000f * of.faults() / millis;
        figures[first + 1] = of.faultP50Ns();
        figures[first + 2] = of.faultP99Ns();
        figures[first + 3] = of.fetchP50Ns();
        figures[first + 4] = of.fetchP99Ns();
        next = (next + 1) % SAMPLES;
        size = Math.min(SAMPLES, size + 1);
    }

    /** The samples after a time, in seconds since 1970, the oldest first. */
    FaultHistory after(long seconds) {
        List<Long> times = new ArrayList<>(size);
        List<Double> rates = new ArrayList<>(size);
        List<List<Long>> latencies =
                List.of(new ArrayList<>(size), new ArrayList<>(size), new ArrayList<>(size), new ArrayList<>(size));
        for (int i = 0; i < size; i++) {
            int sample = (next - size + i + SAMPLES) % SAMPLES;
            long time = Integer.toUnsignedLong(at[sample]);
            if (time > seconds) {
                times.add(time);
                rates.add(Math.round(10.0 * figures[sample * FIGURES]) / 10.0);
                for (int latency = 0; latency < latencies.size(); latency++) {
                    latencies.get(latency).add((long) figures[sample * FIGURES + 1 + latency]);
                }
            }
        }
        return new FaultHistory(times, rates, latencies.get(0), latencies.get(1), latencies.get(2), latencies.get(3));
    }
}
