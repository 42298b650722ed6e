package io.farpage.agent.rest;

import io.farpage.agent.control.latency.LatencySeries;
import io.farpage.rest.Route;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Supplier;
import java.util.zip.Deflater;
import org.HdrHistogram.Histogram;

/** The latencies of everything that is recorded, as histograms. */
public final class LatencyApi {
    private static final long PROCESS = ThreadLocalRandom.current().nextLong(1L << 53);

    private final Supplier<List<LatencySeries>> series;

    public LatencyApi(Supplier<List<LatencySeries>> series) {
        this.series = series;
    }

    /**
     * The answer of {@code GET /api/v1/latencies}. The difference of two of them is what was recorded between.
     *
     * @param process a number of this process of the agent: two answers with different numbers cannot be compared
     * @param millis when it was made, milliseconds since 1970
     * @param nanos when it was made, on a clock of this process that is never set
     */
    public record Latencies(long process, long millis, long nanos, List<Recorder> recorders) {}

    /**
     * One recorder. Several may have one series.
     *
     * @param id differs from that of every other recorder of the process
     * @param series such as {@code fault:demo}
     * @param histogram all nanoseconds recorded so far, in HdrHistogram's compressed form (V2), as Base64
     */
    public record Recorder(long id, String series, String histogram) {}

    /** Its routes. */
    public List<Route> routes() {
        return List.of(Route.answering(AgentOperations.LATENCIES, ctx -> latencies()));
    }

    private Latencies latencies() {
        return new Latencies(
                PROCESS,
                System.currentTimeMillis(),
                System.nanoTime(),
                series.get().stream()
                        .map(one -> new Recorder(
                                one.totals().id(),
                                one.name(),
                                encode(one.totals().sample())))
                        .toList());
    }

    private static String encode(Histogram histogram) {
        ByteBuffer bytes = ByteBuffer.allocate(histogram.getNeededByteBufferCapacity());
        int length = histogram.encodeIntoCompressedByteBuffer(bytes, Deflater.BEST_SPEED);
        return Base64.getEncoder().encodeToString(Arrays.copyOf(bytes.array(), length));
    }
}
