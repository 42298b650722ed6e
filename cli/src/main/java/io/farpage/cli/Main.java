package io.farpage.cli;

import io.farpage.cli.local.DownCommand;
import io.farpage.cli.local.UpCommand;
import io.farpage.config.ConfigException;
import io.farpage.config.ExitCodes;
import io.farpage.config.Subcommands;
import io.farpage.config.Version;
import io.farpage.log.Printable;
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
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * The program {@code farpage}. {@code bin/farpage} runs the programs below it without this one, so that each starts
 * with its own AOT cache.
 */
@Command(
        name = "farpage",
        description =
                "Memory of other machines for virtual machines: all programs and the operator's commands under one"
                        + " name.",
        mixinStandardHelpOptions = true,
        versionProvider = Version.class)
public final class Main implements Callable<Integer> {

    /** Commands of the coordinator that an operator gives most; {@code bin/farpage} has the same list. */
    static final List<String> OPERATOR =
            List.of("status", "nodes", "spaces", "guests", "links", "events", "drain", "space");

    private static final List<Class<?>> OWN = List.of(
            UpCommand.class, DownCommand.class, CompletionCommand.class, ManPageCommand.class, TrainCommand.class);

    private static final int COULD_NOT = 1;

    @Spec
    private @Nullable CommandSpec spec;

    private Main() {}

    /** Runs the program and exits with its code. */
    public static void main(String[] args) {
        System.exit(commandLine(args).execute(args));
    }

    /**
     * Those programs and commands that the arguments need.
     *
     * @param args of the program; none: all programs and commands
     */
    public static CommandLine commandLine(String... args) {
        CommandLine program = new CommandLine(new Main());
        if (Subcommands.add(program, OWN, args)) {
            addPrograms(program);
        }
        ExitCodes.describe(program);
        TracedCommands.install(program, "farpage", Set.of("run", "keeper", "coordinator"));
        return program.setCaseInsensitiveEnumValuesAllowed(true)
                .setExecutionExceptionHandler((e, command, parsed) -> report(command.getErr(), e));
    }

    private static void addPrograms(CommandLine program) {
        program.addSubcommand("coordinator", io.farpage.coordinator.Main.commandLine());
        program.addSubcommand("agent", io.farpage.agent.Main.commandLine());
        program.addSubcommand("bench", io.farpage.bench.Main.commandLine());
        // A command has one parent, so these are others than those below 'coordinator'.
        CommandLine again = io.farpage.coordinator.Main.commandLine();
        OPERATOR.forEach(
                name -> program.addSubcommand(name, again.getSubcommands().get(name)));
    }

    private static int report(PrintWriter err, Exception e) {
        if (e instanceof ConfigException config) {
            config.problems().forEach(problem -> err.println("farpage: " + problem));
        } else {
            err.println("farpage: " + Printable.of(e.getMessage() == null ? e.toString() : e.getMessage()));
        }
        err.flush();
        return COULD_NOT;
    }

    @Override
    public Integer call() {
        throw new ParameterException(
                Objects.requireNonNull(spec).commandLine(), "Missing required subcommand, such as status");
    }
}
