package io.farpage.agent.latency;

import io.farpage.agent.control.latency.MergedLatencies;
import io.farpage.agent.rest.LatencyApi;
import io.farpage.rest.Json;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.zip.DataFormatException;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/** Computes intervals from an agent's answers. Each answer has all that was recorded so far. Used by one thread. */
public final class LatencyDifference {
    private static final double NANOS_PER_SECOND = 1e9;

    private LatencyApi.@Nullable Latencies last;
    private Map<Long, Histogram> before = Map.of();

    /**
     * Takes the next answer.
     *
     * @param json of {@code GET /api/v1/latencies}
     * @return what was recorded since the last answer; empty for the first of a process of the agent
     * @throws IllegalArgumentException if the answer is of another form
     */
    public Optional<LatencyInterval> next(byte[] json) {
        LatencyApi.Latencies now = read(json);
        Map<Long, Histogram> totals = new HashMap<>();
        for (LatencyApi.Recorder recorder : now.recorders()) {
            totals.put(recorder.id(), decode(recorder));
        }
        LatencyApi.Latencies earlier = last;
        Map<Long, Histogram> then = before;
        last = now;
        before = totals;
        if (earlier == null || earlier.process() != now.process() || now.nanos() <= earlier.nanos()) {
            return Optional.empty();
        }
        MergedLatencies merged = new MergedLatencies();
        for (LatencyApi.Recorder recorder : now.recorders()) {
            Histogram recorded =
                    Optional.ofNullable(totals.get(recorder.id())).orElseThrow().copy();
            Histogram start = then.get(recorder.id());
            if (start != null) {
                recorded.subtract(start);
            }
            merged.add(recorder.series(), recorded);
        }
        return Optional.of(new LatencyInterval(
                Instant.ofEpochMilli(earlier.millis()),
                (now.nanos() - earlier.nanos()) / NANOS_PER_SECOND,
                merged.bySeries()));
    }

    private static LatencyApi.Latencies read(byte[] json) {
        try {
            return Json.LENIENT.readValue(json, LatencyApi.Latencies.class);
        } catch (RuntimeException e) {
            throw new IllegalArgumentException(
                    "its answer is not that of an agent of this release: " + e.getMessage(), e);
        }
    }

    private static Histogram decode(LatencyApi.Recorder recorder) {
        try {
            return Histogram.decodeFromCompressedByteBuffer(
                    ByteBuffer.wrap(Base64.getDecoder().decode(recorder.histogram())), 0);
        } catch (DataFormatException | RuntimeException e) {
            throw new IllegalArgumentException(
                    "its histogram of series '%s' cannot be read: %s".formatted(recorder.series(), e), e);
        }
    }
}
