package io.farpage.coordinator;

import io.farpage.config.ConfigException;
import io.farpage.config.ExitCodes;
import io.farpage.config.ReferencePage;
import io.farpage.config.Subcommands;
import io.farpage.config.Version;
import io.farpage.coordinator.command.BackupCommand;
import io.farpage.coordinator.command.CertsCommand;
import io.farpage.coordinator.command.DrainCommand;
import io.farpage.coordinator.command.EventsCommand;
import io.farpage.coordinator.command.GuestsCommand;
import io.farpage.coordinator.command.JoinTokenCommand;
import io.farpage.coordinator.command.LinksCommand;
import io.farpage.coordinator.command.NodesCommand;
import io.farpage.coordinator.command.RebuildCommand;
import io.farpage.coordinator.command.RestoreCommand;
import io.farpage.coordinator.command.RunCommand;
import io.farpage.coordinator.command.SpaceCommand;
import io.farpage.coordinator.command.SpacesCommand;
import io.farpage.coordinator.command.StatusCommand;
import io.farpage.coordinator.command.TokenCommand;
import io.farpage.coordinator.command.UpCommand;
import io.farpage.coordinator.config.Settings;
import io.farpage.coordinator.server.CoordinatorMetrics;
import io.farpage.coordinator.server.RunOptions;
import io.farpage.log.Printable;
import io.farpage.rest.MetricsPage;
import io.farpage.trace.TracedCommands;
import java.io.PrintWriter;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** The program {@code coordinator}. */
@Command(
        name = "coordinator",
        description = "Keeps the nodes, links and spaces of a farpage cluster.",
        mixinStandardHelpOptions = true,
        versionProvider = Version.class)
public final class Main implements Callable<Integer> {

    /** Exit code when the configuration or the environment does not allow a start. */
    static final int CANNOT_START = 1;

    private static final List<Class<?>> COMMANDS = List.of(
            RunCommand.class,
            UpCommand.class,
            StatusCommand.class,
            NodesCommand.class,
            SpacesCommand.class,
            GuestsCommand.class,
            LinksCommand.class,
            EventsCommand.class,
            SpaceCommand.class,
            DrainCommand.class,
            RebuildCommand.class,
            BackupCommand.class,
            RestoreCommand.class,
            CertsCommand.class,
            TokenCommand.class,
            JoinTokenCommand.class,
            Main.ReferenceCommand.class,
            Main.MetricsReferenceCommand.class);

    @CommandLine.Mixin
    private final RunOptions options = new RunOptions();

    @Spec
    private @Nullable CommandSpec spec;

    private Main() {}

    /** Runs the program and exits with its code: 0 done, 1 could not be done, 2 wrong usage. */
    public static void main(String[] args) {
        int code = execute(args);
        if (code != 0) {
            System.exit(code);
        }
    }

    public static int execute(String... args) {
        return commandLine(args).execute(args);
    }

    /**
     * The program's options, and those commands that the arguments need.
     *
     * @param args of the program; none: all commands
     */
    public static CommandLine commandLine(String... args) {
        CommandLine program = new CommandLine(new Main());
        Subcommands.add(program, COMMANDS, args);
        ExitCodes.describe(program);
        TracedCommands.install(program, "coordinator", Set.of("run"));
        return program.setCaseInsensitiveEnumValuesAllowed(true).setExecutionExceptionHandler((e, command, parsed) -> {
            report(command.getErr(), e);
            return CANNOT_START;
        });
    }

    /** One line for each thing that is wrong, and never a stack trace for what the user can put right. */
    private static void report(PrintWriter err, Exception e) {
        if (e instanceof ConfigException config) {
            config.problems().forEach(problem -> err.println("coordinator: " + problem));
        } else {
            err.println("coordinator: " + Printable.of(e.getMessage() == null ? e.toString() : e.getMessage()));
        }
        err.flush();
    }

    @Override
    public Integer call() throws Exception {
        return options.run(Objects.requireNonNull(spec).commandLine().getOut());
    }

    /** Prints the reference of the configuration keys. */
    @Command(
            name = "config-reference",
            description = "Prints the reference of all configuration keys as Markdown.",
            mixinStandardHelpOptions = true)
    static final class ReferenceCommand implements Callable<Integer> {
        @Spec
        private @Nullable CommandSpec spec;

        @Override
        public Integer call() {
            String page = ReferencePage.of(Settings.SCHEMA);
            if (spec != null) {
                spec.commandLine().getOut().print(page);
                spec.commandLine().getOut().flush();
            }
            return 0;
        }
    }

    /** Prints the reference of the metrics. */
    @Command(
            name = "metrics-reference",
            description = "Prints the reference of all metrics as Markdown.",
            mixinStandardHelpOptions = true)
    static final class MetricsReferenceCommand implements Callable<Integer> {
        @Spec
        private @Nullable CommandSpec spec;

        @Override
        public Integer call() {
            PrintWriter out = Objects.requireNonNull(spec).commandLine().getOut();
            out.print(MetricsPage.of("coordinator", CoordinatorMetrics.described()));
            out.flush();
            return 0;
        }
    }
}
