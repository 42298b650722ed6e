package io.farpage.bench.fault;

import io.farpage.bench.baseline.FaultToucher.Backing;
import io.farpage.bench.command.RunOptions;
import io.farpage.guest.command.TimeSpan;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** The options as given; {@link FaultPlan} says what is allowed. */
final class FaultOptions {
    @Option(
            names = "--case",
            split = ",",
            converter = CaseName.class,
            description =
                    "random, threads, sequential-prefetch, random-prefetch, local-100, local-50, local-25, encrypted,"
                            + " encrypted-local-25, mirrored, mirrored-local-25, observed, mixed (default: all)")
    List<FaultCase> cases = List.of();

    @Option(
            names = "--pages",
            defaultValue = "8192",
            description = "Number of pages that a round touches, each once (default: ${DEFAULT-VALUE})")
    long pages;

    @Option(
            names = "--threads",
            defaultValue = "4",
            description = "Threads in the case threads, 2 to 64 (default: ${DEFAULT-VALUE})")
    int threads;

    @Option(
            names = "--prefetch",
            defaultValue = "32",
            description = "Largest number of pages in one fetch, 2 to 64, in the cases that prefetch"
                    + " (default: ${DEFAULT-VALUE})")
    int prefetch;

    @Option(
            names = "--backing",
            defaultValue = "memfd",
            description = "Memory to touch: memfd, which an agent can evict from, or anonymous, as Firecracker uses it"
                    + " (default: ${DEFAULT-VALUE})")
    Backing backing = Backing.MEMFD;

    @Option(
            names = "--cpus",
            paramLabel = "HANDLER,HOME[,TOUCHER]",
            description =
                    "CPU that resolves faults, CPU that serves pages and CPU that touches memory (default: the first"
                            + " three that this process may use; with two CPUs, the toucher shares the handler's); with"
                            + " --idle block, all run on the first")
    @Nullable
    String cpus;

    @Option(
            names = "--warmup",
            defaultValue = "5s",
            converter = TimeSpan.class,
            description = "How long the agents resolve faults before the first round, for the JIT compiler"
                    + " (default: ${DEFAULT-VALUE})")
    Duration warmup = Duration.ZERO;

    @Mixin
    final RunOptions run;

    FaultOptions() {
        this(new RunOptions());
    }

    /** For another command, which sets the others. */
    FaultOptions(RunOptions run) {
        this.run = run;
    }
}
