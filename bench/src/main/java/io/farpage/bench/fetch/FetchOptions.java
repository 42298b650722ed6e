package io.farpage.bench.fetch;

import io.farpage.bench.baseline.BaselineSettings.Verification;
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
            description = "latency (one page at a time), throughput or all (${DEFAULT-VALUE})")
    ModeChoice mode = ModeChoice.ALL;

    @Option(names = "--pages", defaultValue = "65536", description = "Pages that the home holds (${DEFAULT-VALUE})")
    long pages;

    @Option(
            names = "--page-size",
            defaultValue = "4KiB",
            converter = ByteSize.class,
            description = "4KiB to 2MiB, a power of two (${DEFAULT-VALUE})")
    long pageSize;

    @Option(
            names = "--depth",
            description = "Fetches under way at once in throughput mode, 2 to 1024 (32); latency mode has one")
    @Nullable
    Integer depth;

    @Option(
            names = "--pattern",
            defaultValue = "random",
            description = "random, sequential or zipf: the order of the pages (${DEFAULT-VALUE})")
    PagePattern pattern = PagePattern.RANDOM;

    @Option(names = "--zipf-exponent", defaultValue = "0.99", description = "0.01 to 10 (${DEFAULT-VALUE})")
    double zipfExponent;

    @Option(
            names = "--cpus",
            paramLabel = "NODE,HOME",
            description = "CPUs of the fetching and of the serving side (the first two that this process may use);"
                    + " with block both run on the first")
    @Nullable
    String cpus;

    @Option(
            names = "--duration",
            defaultValue = "5500ms",
            converter = TimeSpan.class,
            description = "How long each run measures, over all its rounds (${DEFAULT-VALUE})")
    Duration duration = Duration.ZERO;

    @Option(names = "--count", description = "Fetches of each run, over all its rounds, instead of --duration")
    @Nullable
    Long count;

    @Option(
            names = "--warmup",
            defaultValue = "3s",
            converter = TimeSpan.class,
            description =
                    "How long each run goes on before its first round, for the JIT compiler; up to five times as long on a"
                            + " busy machine (${DEFAULT-VALUE})")
    Duration warmup = Duration.ZERO;

    @Option(
            names = "--verify",
            defaultValue = "full",
            description = "What is checked of each fetched page: full, ends (first and last word) or none"
                    + " (${DEFAULT-VALUE}); filled pages are always checked in full")
    Verification verify = Verification.FULL;

    @Option(names = "--device", paramLabel = "NAME", description = "RDMA device of both agents; with --transport rdma")
    @Nullable
    String device;

    @Option(names = "--gid-index", description = "Of the device's port; with --device (the agents choose)")
    @Nullable
    Integer gidIndex;

    @Option(
            names = "--baseline",
            description = "c (a C program over TCP), perftest (ib_read_lat and ib_read_bw on the same device) or none."
                    + " Left out: perftest with --transport rdma, otherwise c")
    @Nullable
    BaselineKind baseline;

    @Option(
            names = "--bounds",
            split = ",",
            paramLabel = "FIGURE=LIMIT",
            description =
                    "Fail if a figure is worse: p50 and p99 (at most, of the baseline's, one page at a time), throughput"
                            + " (at least, of the baseline's), allocated (at most, bytes per fetch); as in p50=1.1,p99=1.3")
    Map<Bounds.Figure, Double> bounds = Map.of();

    @Mixin
    final RunOptions run = new RunOptions();
}
