package io.farpage.bench.clone;

import io.farpage.bench.baseline.FaultToucher.Backing;
import io.farpage.bench.command.RunOptions;
import io.farpage.config.BytesOption;
import io.farpage.guest.command.TimeSpan;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** The options as given; {@link ClonePlan} says what is allowed. */
final class CloneOptions {
    @Option(
            names = "--memory",
            converter = BytesOption.class,
            defaultValue = "256MiB",
            description = "Size of the snapshot, 2MiB to 16GiB; all of it is written (default: ${DEFAULT-VALUE})")
    long memory;

    @Option(
            names = "--large",
            converter = BytesOption.class,
            defaultValue = "4GiB",
            description = "Size of a second snapshot, up to 64GiB; its first part is written, as much as --memory"
                    + " (default: ${DEFAULT-VALUE})")
    long large;

    @Option(
            names = "--clones",
            defaultValue = "20",
            description = "Clones that are started of each snapshot, in all rounds together, up to 1000"
                    + " (default: ${DEFAULT-VALUE})")
    int clones;

    @Option(
            names = "--touches",
            defaultValue = "4096",
            description =
                    "Pages that a clone touches in a round in which touches are timed (default: ${DEFAULT-VALUE})")
    long touches;

    @Option(
            names = "--sharers",
            defaultValue = "50",
            description = "Processes that map the snapshot as a file at the same time, touch all of it, and write to a"
                    + " 64th, 1 to 500 (default: ${DEFAULT-VALUE})")
    int sharers;

    @Option(
            names = "--backing",
            defaultValue = "memfd",
            description = "Memory of clones: memfd, which an agent can evict from, or anonymous, as Firecracker uses it"
                    + " (default: ${DEFAULT-VALUE})")
    Backing backing = Backing.MEMFD;

    @Option(
            names = "--readahead",
            defaultValue = "0",
            paramLabel = "KIB",
            description = "As page-agent mount has it, 0 to 1024 (default: ${DEFAULT-VALUE})")
    int readahead;

    @Option(
            names = "--cpus",
            paramLabel = "HANDLER,HOME[,TOUCHER]",
            description =
                    "CPU that resolves faults, CPU that serves pages and CPU that touches memory (default: the first"
                            + " three that this process may use); with --idle block, all run on the first")
    @Nullable
    String cpus;

    @Option(
            names = "--warmup",
            defaultValue = "5s",
            converter = TimeSpan.class,
            description = "How long clones start and touch pages before the first round, for the JIT compiler"
                    + " (default: ${DEFAULT-VALUE})")
    Duration warmup = Duration.ZERO;

    @Mixin
    final RunOptions run = new RunOptions();
}
