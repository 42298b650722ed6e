package io.farpage.bench;

import io.farpage.bench.agents.ClusterCommand;
import io.farpage.bench.agents.ProbeCommand;
import io.farpage.bench.baseline.BaselineException;
import io.farpage.bench.clone.CloneCommand;
import io.farpage.bench.coherent.CoherentCommand;
import io.farpage.bench.evict.EvictCommand;
import io.farpage.bench.fault.FaultCommand;
import io.farpage.bench.fault.PeersCommand;
import io.farpage.bench.fetch.FetchCommand;
import io.farpage.bench.footprint.FootprintCommand;
import io.farpage.bench.footprint.FootprintPeersCommand;
import io.farpage.bench.install.InstallCommand;
import io.farpage.bench.message.MessagesCommand;
import io.farpage.bench.node.FetchNodeCommand;
import io.farpage.bench.park.ParkCommand;
import io.farpage.bench.snapshot.SnapshotCommand;
import io.farpage.config.ExitCodes;
import io.farpage.config.Subcommands;
import io.farpage.config.Version;
import io.farpage.guest.command.CommandException;
import io.farpage.guest.command.UsageException;
import io.farpage.guest.stress.StressCommand;
import io.farpage.guest.vmm.GuestVmCommand;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.ParameterException;

/**
 * The program {@code page-bench}. Exit codes: 0 done, 1 could not be done, pages were wrong or a bound was exceeded, 2
 * wrong usage.
 */
@Command(
        name = "page-bench",
        description = "Measures farpage.",
        mixinStandardHelpOptions = true,
        versionProvider = Version.class)
public final class Main implements Callable<Integer> {
    private static final List<Class<?>> COMMANDS = List.of(
            FetchCommand.class,
            FaultCommand.class,
            PeersCommand.class,
            ClusterCommand.class,
            ProbeCommand.class,
            FetchNodeCommand.class,
            GuestVmCommand.class,
            InstallCommand.class,
            MessagesCommand.class,
            EvictCommand.class,
            ParkCommand.class,
            SnapshotCommand.class,
            CloneCommand.class,
            CoherentCommand.class,
            FootprintCommand.class,
            FootprintPeersCommand.class,
            StressCommand.class);
    private static final int COULD_NOT = 1;
    private static final int USAGE = 2;

    private Main() {}

    /** Runs the program. */
    public static void main(String[] args) {
        System.exit(execute(args));
    }

    static int execute(String... args) {
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
        return program.setCaseInsensitiveEnumValuesAllowed(true)
                .setParameterExceptionHandler(Main::refuse)
                .setExecutionExceptionHandler(Main::fail);
    }

    @Override
    public Integer call() {
        throw new UsageException(
                "say what to do: fetch, fault, peers, park, snapshot, clone, coherent, footprint, cluster, guest-vm,"
                        + " install or stress");
    }

    private static int refuse(ParameterException e, String[] args) {
        return refuse(String.valueOf(e.getMessage()), e.getCommandLine());
    }

    private static int refuse(String message, CommandLine line) {
        String first = message.lines().findFirst().orElse("wrong usage");
        System.err.println(
                "page-bench: " + first + "; see " + line.getCommandSpec().qualifiedName() + " --help");
        return USAGE;
    }

    private static int fail(Exception e, CommandLine line, CommandLine.ParseResult parsed) throws Exception {
        return switch (e) {
            case UsageException wrong -> refuse(String.valueOf(wrong.getMessage()), line);
            case CommandException said -> fail(said);
            case BaselineException said -> fail(said);
            default -> throw e;
        };
    }

    private static int fail(RuntimeException said) {
        System.err.println("page-bench: " + said.getMessage());
        return COULD_NOT;
    }
}
