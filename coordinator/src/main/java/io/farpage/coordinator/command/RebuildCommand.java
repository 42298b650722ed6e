package io.farpage.coordinator.command;

import io.farpage.config.Quantities;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.RebuildFinish;
import io.farpage.coordinator.model.RebuildStatus;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/**
 * {@code coordinator rebuild status|finish}: shows, and ends, the rebuild that {@code coordinator run --rebuild} began.
 */
@Command(
        name = "rebuild",
        description = "Shows or ends the rebuild of a coordinator that was started with run --rebuild.",
        subcommands = {RebuildCommand.Status.class, RebuildCommand.Finish.class},
        mixinStandardHelpOptions = true)
public final class RebuildCommand implements Callable<Integer> {

    private static final int INCOMPLETE = 1;

    @Spec
    private @Nullable CommandSpec spec;

    RebuildCommand() {}

    @Override
    public Integer call() {
        throw new CommandLine.ParameterException(
                Objects.requireNonNull(spec).commandLine(), "Missing required subcommand: status or finish");
    }

    /** Where the coordinator is. */
    static final class Target {
        @CommandLine.Mixin
        private final CoordinatorTarget coordinator = new CoordinatorTarget();

        @Option(
                names = "--timeout",
                paramLabel = "DURATION",
                defaultValue = "10s",
                description = "Deadline of the call (default: ${DEFAULT-VALUE}).")
        private String timeout = "10s";

        CoordinatorClient client() {
            return coordinator.client(Quantities.duration(timeout));
        }
    }

    private static void print(CommandSpec spec, RebuildStatus status) {
        PrintWriter out = spec.commandLine().getOut();
        out.println("reported:  " + String.join(", ", status.reported()));
        out.println("missing:   " + String.join(", ", status.missing()));
        out.println("spaces:    " + String.join(", ", status.spaces()));
        status.conflicts().forEach(conflict -> out.println("conflict:  " + conflict));
        out.println(status.finished() ? "finished" : "not finished");
        out.flush();
    }

    /** {@code coordinator rebuild status}. */
    @Command(name = "status", description = "Shows which nodes have reported.", mixinStandardHelpOptions = true)
    static final class Status implements Callable<Integer> {
        @CommandLine.Mixin
        private final Target target = new Target();

        @Spec
        private @Nullable CommandSpec spec;

        @Override
        public Integer call() throws CoordinatorException {
            try (CoordinatorClient client = target.client()) {
                RebuildStatus status = client.rebuildStatus();
                print(Objects.requireNonNull(spec), status);
                return status.missing().isEmpty() && status.conflicts().isEmpty() ? 0 : INCOMPLETE;
            }
        }
    }

    /** {@code coordinator rebuild finish}. */
    @Command(
            name = "finish",
            description = "Ends the rebuild: the coordinator begins to serve what the agents have reported.",
            mixinStandardHelpOptions = true)
    static final class Finish implements Callable<Integer> {
        @CommandLine.Mixin
        private final Target target = new Target();

        @Option(
                names = "--without",
                paramLabel = "NODE",
                split = ",",
                description = "A node to give up: what it holds is lost. May be repeated.")
        private List<String> without = new ArrayList<>();

        @Spec
        private @Nullable CommandSpec spec;

        @Override
        public Integer call() throws CoordinatorException {
            try (CoordinatorClient client = target.client()) {
                print(Objects.requireNonNull(spec), client.finishRebuild(new RebuildFinish(without)));
                return 0;
            }
        }
    }
}
