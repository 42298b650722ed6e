package io.farpage.bench.coherent;

import io.farpage.bench.command.RdmaOptions;
import io.farpage.bench.command.RunOptions;
import io.farpage.guest.command.TimeSpan;
import java.time.Duration;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** The options as given; {@link CoherentPlan} says what is allowed. */
final class CoherentOptions {
    @Option(
            names = "--count",
            defaultValue = "2000",
            description = "Faults of each kind in a round, 256 to 100000; a sum is of four times as many pages"
                    + " (default: ${DEFAULT-VALUE})")
    int count;

    @Option(
            names = "--replicas",
            defaultValue = "1",
            description = "Homes of each page of coherent spaces, 1 or 2 (default: ${DEFAULT-VALUE})")
    int replicas;

    @Option(
            names = "--apart",
            description =
                    "With --idle block, homes run on another CPU than nodes and their threads, and so does the side"
                            + " of the C program that answers")
    boolean apart;

    @Option(
            names = "--warmup",
            defaultValue = "10s",
            converter = TimeSpan.class,
            description = "How long rounds are taken that do not count, for the JIT compiler; one at least (default:"
                    + " ${DEFAULT-VALUE})")
    Duration warmup = Duration.ZERO;

    @Mixin
    RdmaOptions rdma = new RdmaOptions();

    @Mixin
    RunOptions run = new RunOptions();
}
