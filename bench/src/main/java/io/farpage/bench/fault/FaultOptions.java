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
                    "random, threads, sequential-prefetch, random-prefetch, local-100, local-50, local-25; all, if left out")
    List<FaultCase> cases = List.of();

    @Option(
            names = "--pages",
            defaultValue = "8192",
            description = "Pages that a round touches, each once (${DEFAULT-VALUE})")
    long pages;

    @Option(names = "--threads", defaultValue = "4", description = "Of the case threads, 2 to 64 (${DEFAULT-VALUE})")
    int threads;

    @Option(
            names = "--prefetch",
            defaultValue = "32",
            description = "Pages that one fetch may bring, 2 to 64, in the cases that prefetch (${DEFAULT-VALUE})")
    int prefetch;

    @Option(
            names = "--backing",
            defaultValue = "memfd",
            description = "memfd, out of which an agent can evict, or anonymous, as Firecracker's (${DEFAULT-VALUE})")
    Backing backing = Backing.MEMFD;

    @Option(
            names = "--cpus",
            paramLabel = "HANDLER,HOME[,TOUCHER]",
            description =
                    "CPUs of what resolves faults, of what serves pages and of what touches memory (the first three that this"
                            + " process may use; with two, the toucher is on the handler's); with block all run on the first")
    @Nullable
    String cpus;

    @Option(
            names = "--warmup",
            defaultValue = "5s",
            converter = TimeSpan.class,
            description =
                    "How long the agents resolve faults before the first round, for the JIT compiler (${DEFAULT-VALUE})")
    Duration warmup = Duration.ZERO;

    @Mixin
    final RunOptions run = new RunOptions();
}
