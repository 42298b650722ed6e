package io.farpage.coordinator.command;

import io.farpage.config.DurationOption;
import io.farpage.config.Quantities;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.Drain;
import io.farpage.progress.Progress;
import io.farpage.progress.ProgressOption;
import io.farpage.progress.Unit;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code coordinator drain NODE}: empties a node under running guests, and waits until it holds nothing. */
@Command(
        name = "drain",
        description = {
            "Empties a node: nothing more is placed on it, and what it holds is copied to other nodes: by the agents of"
                    + " running guests, or by these nodes.",
            "Ends with 0 when the node holds nothing. When the time is over it ends with 1 and says what keeps the"
                    + " rest; the node is drained further, and the same command waits again."
        },
        exitCodeListHeading = "Exit codes:%n",
        exitCodeList = {
            "0:The node holds nothing.",
            "1:The node holds something still, or the coordinator cannot be asked.",
            "2:Wrong usage: an option or a value is not allowed."
        },
        mixinStandardHelpOptions = true)
public final class DrainCommand implements Callable<Integer> {

    private static final int NOT_DRAINED = 1;
    private static final Duration CALL_DEADLINE = Duration.ofSeconds(10);
    private static final Duration POLL = Duration.ofMillis(200);

    @Mixin
    private final CoordinatorTarget coordinator = new CoordinatorTarget();

    @Parameters(paramLabel = "NODE", description = "The node's id.")
    private String node = "";

    @Option(
            names = "--timeout",
            paramLabel = "DURATION",
            converter = DurationOption.class,
            defaultValue = "10m",
            description = "How long to wait until the node holds nothing (default: ${DEFAULT-VALUE}).")
    private Duration timeout = Duration.ofMinutes(10);

    @Mixin
    private final ProgressOption progressOption = new ProgressOption();

    @ArgGroup(multiplicity = "0..1")
    private final Choice choice = new Choice();

    @Spec
    private @Nullable CommandSpec spec;

    DrainCommand() {}

    /** What else to do than to drain. */
    static final class Choice {
        @Option(names = "--cancel", description = "Stop draining the node; what has moved stays where it is.")
        private boolean cancel;

        @Option(
                names = "--status",
                description = "Only say how far the node has been emptied, and what keeps the rest.")
        private boolean status;
    }

    @Override
    public Integer call() throws CoordinatorException, InterruptedException {
        PrintWriter out = Objects.requireNonNull(spec).commandLine().getOut();
        try (CoordinatorClient client = coordinator.client(CALL_DEADLINE)) {
            if (choice.cancel) {
                client.cancelDrain(node);
                out.printf("node %s is no longer drained%n", node);
                out.flush();
                return 0;
            }
            return choice.status ? status(client, out) : drain(client, out);
        }
    }

    private int status(CoordinatorClient client, PrintWriter out) throws CoordinatorException {
        Drain now = client.drained(node);
        print(out, now);
        return now.drained() ? 0 : NOT_DRAINED;
    }

    private int drain(CoordinatorClient client, PrintWriter out) throws CoordinatorException, InterruptedException {
        Drain now = client.drain(node);
        print(out, now);
        if (!now.drained()) {
            now = await(client, now, out);
        }
        if (!now.drained()) {
            out.printf(
                    "node %s is not empty after %s; it is drained further: repeat the command, or end that with"
                            + " --cancel%n",
                    node, Quantities.format(timeout));
            out.flush();
        }
        return now.drained() ? 0 : NOT_DRAINED;
    }

    /** Waits until the node is drained or the time is over, and prints each change. */
    private Drain await(CoordinatorClient client, Drain first, PrintWriter out)
            throws CoordinatorException, InterruptedException {
        long end = System.nanoTime() + timeout.toNanos();
        Drain now = first;
        try (Progress progress = progressOption.start("drain " + node, Unit.BYTES)) {
            progress.total(first.leftBytes());
            while (!now.drained() && end - System.nanoTime() > 0) {
                Thread.sleep(POLL);
                Drain before = now;
                Drain after = client.drained(node);
                if (!isSame(before, after)) {
                    progress.interrupt(() -> print(out, after));
                }
                progress.done(first.leftBytes() - after.leftBytes());
                now = after;
            }
            if (now.drained()) {
                progress.finish();
            }
        }
        return now;
    }

    /** Whether there is nothing new to print. */
    private static boolean isSame(Drain before, Drain after) {
        return before.drained() == after.drained()
                && before.extents() == after.extents()
                && before.bytes() == after.bytes()
                && before.reasons().equals(after.reasons());
    }

    private static void print(PrintWriter out, Drain drain) {
        if (drain.drained()) {
            out.printf("node %s is drained: it holds nothing%n", drain.node());
        } else {
            out.printf("node %s holds %d bytes, %d extents%n", drain.node(), drain.bytes(), drain.extents());
            drain.reasons().forEach(reason -> out.println("  " + reason));
        }
        out.flush();
    }
}
