package io.farpage.agent.command;

import io.farpage.agent.client.AgentTarget;
import io.farpage.agent.latency.LatencyDifference;
import io.farpage.agent.latency.LatencyInterval;
import io.farpage.agent.latency.LatencyLogReader;
import io.farpage.agent.latency.LatencyPrinter;
import io.farpage.agent.rest.AgentOperations;
import io.farpage.config.DurationOption;
import io.farpage.tls.ClientOptions;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code page-agent latency}: percentiles and rates of each interval, of a running agent or from a log. */
@Command(
        name = "latency",
        mixinStandardHelpOptions = true,
        description = {
            "Show the latencies of faults and transfers in each interval: rate, 50th, 99th and 99.9th percentile and"
                    + " maximum.",
            "Without --watch and --file: of one interval that begins now. Ctrl-C ends --watch."
        })
public final class LatencyCommand implements Callable<Integer> {
    private static final int REFUSED = 1;
    private static final Duration SHORTEST = Duration.ofMillis(100);
    private static final Duration LONGEST = Duration.ofHours(1);
    private static final Duration STANDARD = Duration.ofSeconds(1);

    @Spec
    @SuppressWarnings("NullAway.Init") // set by picocli
    private CommandSpec spec;

    @Option(
            names = "--agent",
            paramLabel = "AGENT",
            defaultValue = "${env:FARPAGE_AGENT}",
            description = AgentTarget.AGENT)
    private @Nullable String agent;

    @Mixin
    private final ClientOptions security = new ClientOptions();

    @Option(names = "--watch", description = "Show every interval until Ctrl-C")
    private boolean watch;

    @Option(
            names = "--interval",
            paramLabel = "DURATION",
            converter = DurationOption.class,
            description = "Length of the intervals, 100ms to 1h (default: 1s)")
    private @Nullable Duration interval;

    @Option(
            names = "--file",
            paramLabel = "FILE",
            description = "Show all intervals of a log of HdrHistogram's format, such as a file in latency.directory")
    private @Nullable Path file;

    @Option(names = "--json", description = "Print a JSON object for each series of each interval, one a line")
    private boolean asJson;

    private volatile boolean watching;

    @Override
    public Integer call() throws InterruptedException {
        LatencyPrinter printer = new LatencyPrinter(spec.commandLine().getOut(), asJson);
        if (file != null) {
            return read(file, printer);
        }
        Duration length = interval == null ? STANDARD : interval;
        if (length.compareTo(SHORTEST) < 0 || length.compareTo(LONGEST) > 0) {
            throw wrong("--interval %d ms is not from 100ms to 1h".formatted(length.toMillis()));
        }
        return follow(length, printer);
    }

    private ParameterException wrong(String message) {
        return new ParameterException(spec.commandLine(), message);
    }

    private int read(Path from, LatencyPrinter printer) {
        if (watch || interval != null) {
            throw wrong("--file shows the intervals that the log has; leave out " + (watch ? "--watch" : "--interval")
                    + ", which is for a running agent");
        }
        try {
            var _ = LatencyLogReader.read(from, each -> print(printer, each));
            return 0;
        } catch (IOException e) {
            spec.commandLine().getErr().println("page-agent: " + e.getMessage());
            return REFUSED;
        }
    }

    private int follow(Duration length, LatencyPrinter printer) throws InterruptedException {
        watching = watch;
        if (watch) {
            Runtime.getRuntime()
                    .addShutdownHook(Thread.ofPlatform().name("end-of-watch").unstarted(this::end));
        }
        try {
            return showIntervals(length, printer);
        } finally {
            watching = false;
        }
    }

    /**
     * Prints an interval. Returns false if the output takes no more: what writes to standard output for picocli has no
     * errors of it.
     */
    private static boolean print(LatencyPrinter printer, LatencyInterval interval) {
        return printer.print(interval) && !System.out.checkError();
    }

    /** Ctrl-C is how a watch ends: it was done. */
    private void end() {
        if (watching) {
            spec.commandLine().getOut().flush();
            Runtime.getRuntime().halt(0);
        }
    }

    private int showIntervals(Duration length, LatencyPrinter printer) throws InterruptedException {
        AgentTarget.Caller caller =
                new AgentTarget.Caller(agent, security, spec.commandLine().getErr());
        LatencyDifference difference = new LatencyDifference();
        long due = System.nanoTime();
        boolean shown = false;
        while (watch || !shown) {
            byte[] answer = AgentTarget.send(caller, AgentOperations.LATENCIES.at(), AgentTarget.JSON, new byte[0]);
            if (answer == null) {
                return REFUSED;
            }
            Optional<LatencyInterval> next;
            try {
                next = difference.next(answer);
            } catch (IllegalArgumentException e) {
                spec.commandLine().getErr().println("page-agent: no latencies from the agent: " + e.getMessage());
                return REFUSED;
            }
            if (next.isPresent()) {
                shown = true;
                if (!print(printer, next.get())) {
                    return 0;
                }
            }
            due += length.toNanos();
            if (watch || !shown) {
                TimeUnit.NANOSECONDS.sleep(due - System.nanoTime());
            }
        }
        return 0;
    }
}
