package io.farpage.bench.report;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.HdrHistogram.Histogram;

/** Reports of made-up but lifelike latencies, the same every time. */
final class SampleReport {
    private SampleReport() {}

    static final Conditions CONDITIONS = new Conditions(
            "Linux 6.12.0 amd64",
            "Example <CPU> & co",
            2,
            "Eclipse Adoptium OpenJDK 64-Bit Server VM 25+36",
            List.of("-XX:+UseSerialGC", "-Dquoted=\"</script>\""),
            Instant.parse("2026-01-02T03:04:05Z"),
            42,
            "0123456789ab");

    static final Cost COST = new Cost.OfFetches(0, 9_400, 0);

    static final Screening SCREENING = new Screening(5, List.of("round 3: baseline: it waited"), "CPU pressure");

    static FetchReport threeRuns() {
        return new FetchReport(
                Subject.FETCH,
                CONDITIONS,
                List.of(
                        run("latency-spin", "latency", 1, 9_100, 8_800, 90_000),
                        run("latency-block", "latency", 1, 15_000, 14_500, 62_000),
                        run("throughput", "throughput", 64, 88_000, 84_000, 690_000)),
                List.of());
    }

    static FetchRun run(String name, String mode, int depth, long ours, long baseline, double pagesPerSecond) {
        return new FetchRun(
                settings(name, mode, depth),
                rounds(1, ours, pagesPerSecond),
                new Baseline.Measured(
                        "c-tcp-spin",
                        "spin, client cpu 0, server cpu 1",
                        "hugetlb-2M",
                        rounds(2, baseline, pagesPerSecond * 1.03)),
                COST,
                SCREENING);
    }

    static RunSettings settings(String name, String mode, int depth) {
        return new RunSettings(
                name, mode, "soft", 4096, depth, "random", "client cpu 0, server cpu 1", "spin", "hugetlb-2M", 10_000);
    }

    static List<FetchRound> rounds(long seed, long typicalNs, double pagesPerSecond) {
        return IntStream.range(0, 5)
                .mapToObj(i -> round(seed * 31 + i, typicalNs, pagesPerSecond))
                .toList();
    }

    private static FetchRound round(long seed, long typicalNs, double pagesPerSecond) {
        Random random = new Random(seed);
        int count = 40_000;
        Histogram latencies = FetchRound.newHistogram();
        for (int i = 0; i < count; i++) {
            double body = typicalNs * Math.exp(0.07 * random.nextGaussian());
            double tail = random.nextInt(150) == 0 ? typicalNs * Math.pow(random.nextDouble() + 1e-4, -0.9) : 0;
            latencies.recordValue(Math.min((long) (body + tail), FetchRound.LONGEST_NS));
        }
        return new FetchRound(latencies, 0, Duration.ofNanos((long) (count / pagesPerSecond * 1e9)));
    }
}
