package io.farpage.agent.latency;

import io.farpage.log.Printable;
import io.farpage.rest.Json;
import java.io.PrintWriter;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Locale;
import java.util.Map;
import org.HdrHistogram.Histogram;

/** Prints intervals of latencies, as lines of a table or as one JSON object a line. Used by one thread. */
public final class LatencyPrinter {
    private static final DateTimeFormatter TIME =
            DateTimeFormatter.ofPattern("HH:mm:ss.SSS", Locale.ROOT).withZone(ZoneOffset.UTC);
    private static final double NANOS_PER_MICRO = 1e3;
    private static final double MILLIS_PER_SECOND = 1e3;

    private final PrintWriter out;
    private final boolean asJson;
    private boolean begun;

    public LatencyPrinter(PrintWriter out, boolean asJson) {
        this.out = out;
        this.asJson = asJson;
    }

    /**
     * One series in one interval, as JSON.
     *
     * @param from begin of the interval
     * @param seconds its length
     * @param ratePerSecond count by length
     */
    private record Row(
            Instant from,
            double seconds,
            String series,
            long count,
            double ratePerSecond,
            long p50Ns,
            long p99Ns,
            long p999Ns,
            long maxNs) {
        static Row of(LatencyInterval interval, String series, Histogram nanos) {
            return new Row(
                    interval.from(),
                    interval.seconds(),
                    series,
                    nanos.getTotalCount(),
                    nanos.getTotalCount() / interval.seconds(),
                    nanos.getValueAtPercentile(50),
                    nanos.getValueAtPercentile(99),
                    nanos.getValueAtPercentile(99.9),
                    nanos.getMaxValue());
        }

        String line() {
            String time = TIME.format(from.plusMillis(Math.round(seconds * MILLIS_PER_SECOND)));
            String name = Printable.of(series);
            if (count == 0) {
                return "%-12s  %-24s %10.1f %10s %10s %10s %10s".formatted(time, name, 0.0, "-", "-", "-", "-");
            }
            return "%-12s  %-24s %10.1f %10.1f %10.1f %10.1f %10.1f"
                    .formatted(time, name, ratePerSecond, us(p50Ns), us(p99Ns), us(p999Ns), us(maxNs));
        }

        private static double us(long nanos) {
            return nanos / NANOS_PER_MICRO;
        }
    }

    /**
     * Prints the series in which something was recorded, and the sums in any case. Returns false if the output takes no
     * more.
     */
    public boolean print(LatencyInterval interval) {
        if (!begun && !asJson) {
            out.println("%-12s  %-24s %10s %10s %10s %10s %10s"
                    .formatted("TIME (UTC)", "SERIES", "RATE /s", "P50 us", "P99 us", "P99.9 us", "MAX us"));
        }
        begun = true;
        for (Map.Entry<String, Histogram> each : interval.series().entrySet()) {
            if (each.getValue().getTotalCount() > 0 || each.getKey().indexOf(':') < 0) {
                Row row = Row.of(interval, each.getKey(), each.getValue());
                out.println(asJson ? Json.STRICT.writeValueAsString(row) : row.line());
            }
        }
        return !out.checkError();
    }
}
