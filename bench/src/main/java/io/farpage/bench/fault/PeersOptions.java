package io.farpage.bench.fault;

import io.farpage.bench.command.RunOptions;
import io.farpage.guest.command.TimeSpan;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** The options as given; {@link PeersPlan} says what is allowed. */
final class PeersOptions {
    @Option(
            names = "--peer",
            split = ",",
            description = "farpage, memcached, redis, nbdkit, zram (default: all that this host has)")
    List<Peer> peers = List.of();

    @Option(
            names = "--pages",
            defaultValue = "8192",
            description = "Number of pages that a round touches, each once (default: ${DEFAULT-VALUE})")
    long pages;

    @Option(
            names = "--cpus",
            paramLabel = "HANDLER,SERVER[,TOUCHER]",
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
    private final RunOptions run = new RunOptions();

    /** Those of the case {@code random} of {@code page-bench fault}. */
    FaultOptions ofFaults() {
        FaultOptions options = new FaultOptions(run);
        options.cases = List.of(FaultCase.RANDOM);
        options.pages = pages;
        options.threads = 2;
        options.prefetch = 2;
        options.cpus = cpus;
        options.warmup = warmup;
        return options;
    }
}
