package io.farpage.bench.fetch;

import io.farpage.bench.baseline.BaselineSettings.Verification;
import io.farpage.bench.command.RdmaOptions;
import io.farpage.bench.command.RunOptions;
import io.farpage.bench.pattern.PagePattern;
import io.farpage.bench.report.Bounds;
import io.farpage.guest.command.ByteSize;
import io.farpage.guest.command.TimeSpan;
import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** The options as given; {@link FetchPlan} says what is allowed. */
final class FetchOptions {
    /** A mode, or all. */
    enum ModeChoice {
        LATENCY,
        THROUGHPUT,
        ALL
    }

    @Option(
            names = "--mode",
            defaultValue = "all",
            description =
                    "What to measure: latency (one page at a time), throughput or all (default: ${DEFAULT-VALUE})")
    ModeChoice mode = ModeChoice.ALL;

    @Option(
            names = "--pages",
            defaultValue = "65536",
            description = "Number of pages on the home (default: ${DEFAULT-VALUE})")
    long pages;

    @Option(
            names = "--page-size",
            defaultValue = "4KiB",
            converter = ByteSize.class,
            description = "4KiB to 2MiB, a power of two (default: ${DEFAULT-VALUE})")
    long pageSize;

    @Option(
            names = "--depth",
            description = "Fetches in flight in throughput mode, 2 to 1024 (default: 32); latency mode has one")
    @Nullable
    Integer depth;

    @Option(
            names = "--pattern",
            defaultValue = "random",
            description = "Order of the pages: random, sequential or zipf (default: ${DEFAULT-VALUE})")
    PagePattern pattern = PagePattern.RANDOM;

    @Option(
            names = "--zipf-exponent",
            defaultValue = "0.99",
            description = "Exponent of the zipf pattern, 0.01 to 10 (default: ${DEFAULT-VALUE})")
    double zipfExponent;

    @Option(
            names = "--cpus",
            paramLabel = "NODE,HOME",
            description =
                    "CPU of the fetching node and CPU of the home (default: the first two that this process may use);"
                            + " with --idle block, both run on the first")
    @Nullable
    String cpus;

    @Option(
            names = "--duration",
            defaultValue = "5500ms",
            converter = TimeSpan.class,
            description = "Measured time of each run, all rounds together (default: ${DEFAULT-VALUE})")
    Duration duration = Duration.ZERO;

    @Option(names = "--count", description = "Measured fetches of each run, all rounds together; replaces --duration")
    @Nullable
    Long count;

    @Option(
            names = "--warmup",
            defaultValue = "3s",
            converter = TimeSpan.class,
            description =
                    "How long each run warms up before its first round, for the JIT compiler; up to five times as long"
                            + " on a busy machine (default: ${DEFAULT-VALUE})")
    Duration warmup = Duration.ZERO;

    @Option(
            names = "--verify",
            defaultValue = "full",
            description = "How much of each fetched page is checked: full, ends (first and last word) or none"
                    + " (default: ${DEFAULT-VALUE}); after filling, all pages are checked in full")
    Verification verify = Verification.FULL;

    @Mixin
    RdmaOptions rdma = new RdmaOptions();

    @Option(
            names = "--encryption",
            defaultValue = "off",
            description = "on or off: whether the link is encrypted; needs --transport tcp (default: ${DEFAULT-VALUE})")
    Encryption encryption = Encryption.OFF;

    @Option(
            names = "--sealed",
            defaultValue = "off",
            description =
                    "on or off: whether pages are sealed on the home, as those of an encrypted space; the latency of a"
                            + " fetch then includes opening the page (default: ${DEFAULT-VALUE})")
    Sealing sealing = Sealing.OFF;

    @Option(
            names = "--baseline",
            description =
                    "c (a C program over TCP), perftest (ib_read_lat and ib_read_bw on the same device), plain (the"
                            + " same agents without encryption) or none (default: plain with --encryption on or"
                            + " --sealed on, perftest with --transport rdma, otherwise c)")
    @Nullable
    BaselineKind baseline;

    @Option(
            names = "--bounds",
            split = ",",
            paramLabel = "FIGURE=LIMIT",
            description =
                    "Fail if a figure is outside its limit. p50 and p99: largest ratio to the baseline, one page at a"
                            + " time; throughput: smallest ratio to the baseline; allocated: most bytes per fetch."
                            + " Example: p50=1.1,p99=1.3")
    Map<Bounds.Figure, Double> bounds = Map.of();

    @Mixin
    final RunOptions run = new RunOptions();
}
