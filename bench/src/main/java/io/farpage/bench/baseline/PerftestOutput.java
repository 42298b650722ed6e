package io.farpage.bench.baseline;

import io.farpage.bench.report.FetchRound;
import io.farpage.bench.report.Rate;
import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.HdrHistogram.Histogram;

/** Reads the figures from what perftest prints. */
final class PerftestOutput {
    /** One READ of {@code ib_read_lat -U}: its number and its microseconds. */
    private static final Pattern SAMPLE = Pattern.compile("(\\d+), (\\d+(?:\\.\\d+)?)");

    private static final int BYTES = 0;
    private static final int ITERATIONS = 1;
    /** Of {@code ib_read_bw}, in millions a second, after the peak and the average in MB/s. */
    private static final int MESSAGE_RATE = 4;

    private static final int COLUMNS = 5;

    private PerftestOutput() {}

    /** Every latency that {@code ib_read_lat -U} printed; the round took as long as all of them together. */
    static FetchRound latencies(String output) {
        Histogram histogram = FetchRound.newHistogram();
        long elapsed = 0;
        for (String line : output.lines().map(String::strip).toList()) {
            Matcher sample = SAMPLE.matcher(line);
            if (sample.matches()) {
                long nanos = Math.round(Double.parseDouble(sample.group(2)) * 1000);
                histogram.recordValue(Math.min(nanos, FetchRound.LONGEST_NS));
                elapsed += nanos;
            }
        }
        if (histogram.getTotalCount() == 0) {
            throw new BaselineException("ib_read_lat printed no latencies: " + output.strip());
        }
        return new FetchRound(histogram, 0, Duration.ofNanos(elapsed));
    }

    /** The last row of {@code ib_read_bw}'s table for this size. */
    static Rate rate(String output, int pageSize) {
        String[] row = output.lines()
                .map(line -> line.strip().split("\\s+"))
                .filter(words -> words.length == COLUMNS && words[BYTES].equals(Integer.toString(pageSize)))
                .filter(words -> Stream.of(words).allMatch(word -> word.matches("[0-9.]+")))
                .reduce((first, second) -> second)
                .orElseThrow(() -> new BaselineException("ib_read_bw printed no rate: " + output.strip()));
        double perSecond = Double.parseDouble(row[MESSAGE_RATE]) * 1e6;
        if (!(perSecond > 0)) {
            throw new BaselineException("ib_read_bw found a rate of 0: " + output.strip());
        }
        return new Rate(Long.parseLong(row[ITERATIONS]), perSecond);
    }
}
