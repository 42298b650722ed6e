package io.farpage.bench.message;

import io.farpage.agent.data.shard.IdleStrategy;
import io.farpage.bench.baseline.BaselineProgram;
import io.farpage.bench.baseline.BaselineSettings;
import io.farpage.bench.baseline.MessageBaseline;
import io.farpage.bench.process.Cpus;
import io.farpage.guest.command.CommandException;
import io.farpage.guest.command.UsageException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.function.ToDoubleFunction;
import org.HdrHistogram.Histogram;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code page-bench messages}. */
@Command(
        name = "messages",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description =
                "Sends messages of 64 bytes to another shard over TCP, one after the other, and gets 4160 bytes back."
                        + " Rounds alternate with a program in C that does the same between two processes. Prints p50"
                        + " and p99 of both, the median of the ratios of the rounds, and what each message allocates.")
public final class MessagesCommand implements Callable<Integer> {
    private static final int MAX_ROUNDS = 1000;
    /** Two shards spin, and two responders. */
    private static final int CPUS_TO_SPIN = 4;

    private static final int MAX_COUNT = 10_000_000;
    /** Many times what a round trip takes, with which a side that hangs is noticed. */
    private static final double SLOWEST_SECONDS = 0.002;

    private static final long LEAST_SECONDS = 20;

    @Spec
    @SuppressWarnings("NullAway.Init")
    private CommandSpec spec;

    @Option(
            names = "--idle",
            defaultValue = "block",
            description = "How all threads wait: block, or spin, which needs four CPUs (default: ${DEFAULT-VALUE})")
    private String idle = "";

    @Option(
            names = "--rounds",
            defaultValue = "7",
            description = "Rounds of each side, 1 to 1000 (default: ${DEFAULT-VALUE})")
    private int rounds;

    @Option(
            names = "--count",
            defaultValue = "20000",
            description = "Round trips in a round, 10 to 10000000 (default: ${DEFAULT-VALUE})")
    private int count;

    private record Round(double p50, double p99, double baseP50, double baseP99, double allocated) {}

    @Override
    public Integer call() throws InterruptedException, IOException {
        if (!List.of("block", "spin").contains(idle)) {
            throw new UsageException("--idle " + idle + ": must be block or spin");
        }
        int cpus = Cpus.allowed().size();
        if (idle.equals("spin") && cpus < CPUS_TO_SPIN) {
            throw new CommandException("--idle spin needs %d CPUs, and this process may use %d; say --idle block"
                    .formatted(CPUS_TO_SPIN, cpus));
        }
        requireRange("--rounds", rounds, 1, MAX_ROUNDS);
        requireRange("--count", count, 10, MAX_COUNT);
        Path directory = Files.createTempDirectory("farpage-messages");
        try {
            return switch (MessageBaseline.build(directory, Optional.empty())) {
                case BaselineProgram.Unavailable(String reason) -> throw new CommandException(reason);
                case BaselineProgram.Built(Path program, Path _) -> run(program);
            };
        } finally {
            try (var files = Files.list(directory)) {
                for (Path file : files.toList()) {
                    Files.delete(file);
                }
            }
            Files.delete(directory);
        }
    }

    private static void requireRange(String option, int value, int least, int most) {
        if (value < least || value > most) {
            throw new UsageException("%s %d: must be from %d to %d".formatted(option, value, least, most));
        }
    }

    private int run(Path program) throws InterruptedException {
        List<Integer> cpus = Cpus.allowed();
        int asker = cpus.getFirst();
        int answerer = cpus.getLast();
        MessageBaseline baseline = new MessageBaseline(
                program,
                idle.equals("spin") ? BaselineSettings.Mode.SPIN : BaselineSettings.Mode.BLOCK,
                asker,
                answerer,
                0,
                Optional.empty());
        List<Round> all = new ArrayList<>();
        for (int round = 0; round < rounds; round++) {
            Histogram base = baseline.run(count, timeout()).round().latencies();
            all.add(measure(asker, answerer, base));
        }
        print("%d rounds of %d round trips of 64 and 4160 bytes over TCP, %s, cpus %d and %d"
                .formatted(rounds, count, idle, asker, answerer));
        print("         p50 us   p99 us");
        print("farpage %7.1f  %7.1f".formatted(median(all, Round::p50), median(all, Round::p99)));
        print("c       %7.1f  %7.1f".formatted(median(all, Round::baseP50), median(all, Round::baseP99)));
        print("ratio   %7.2f  %7.2f"
                .formatted(
                        median(all, one -> one.p50() / one.baseP50()), median(all, one -> one.p99() / one.baseP99())));
        print("allocated per message: %.3f bytes".formatted(median(all, Round::allocated)));
        return 0;
    }

    private void print(String line) {
        spec.commandLine().getOut().println(line);
    }

    /** A new pair of shards in each round, which has compiled code from the second one on. */
    private Round measure(int asker, int answerer, Histogram base) throws InterruptedException {
        IdleStrategy strategy = IdleStrategy.valueOf(idle.toUpperCase(Locale.ROOT));
        try (PingPong pair = new PingPong(strategy, asker, answerer)) {
            PingPong.Result result = pair.run(count, timeout().toSeconds());
            return new Round(
                    micros(result.latencies(), 50),
                    micros(result.latencies(), 99),
                    micros(base, 50),
                    micros(base, 99),
                    result.allocatedBytes() / (2.0 * count));
        }
    }

    private static double micros(Histogram latencies, double percentile) {
        return latencies.getValueAtPercentile(percentile) / 1e3;
    }

    private Duration timeout() {
        return Duration.ofSeconds(LEAST_SECONDS + (long) (count * SLOWEST_SECONDS));
    }

    private static double median(List<Round> rounds, ToDoubleFunction<Round> of) {
        double[] sorted = rounds.stream().mapToDouble(of).sorted().toArray();
        return sorted[sorted.length / 2];
    }
}
