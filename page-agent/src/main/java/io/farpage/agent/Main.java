package io.farpage.agent;

import io.farpage.agent.command.CloudHypervisorCommand;
import io.farpage.agent.command.DirectoriesCommand;
import io.farpage.agent.command.DoctorCommand;
import io.farpage.agent.command.GuestCommands;
import io.farpage.agent.command.ImageCommands;
import io.farpage.agent.command.JoinCommand;
import io.farpage.agent.command.KeeperCommands;
import io.farpage.agent.command.LatencyCommand;
import io.farpage.agent.command.LibvirtHookCommand;
import io.farpage.agent.command.MountCommand;
import io.farpage.agent.command.PageCommand;
import io.farpage.agent.command.ParkCommands;
import io.farpage.agent.command.RunCommand;
import io.farpage.agent.command.SnapshotCommand;
import io.farpage.agent.command.SpaceCommand;
import io.farpage.agent.command.UpgradeCommand;
import io.farpage.agent.config.AgentKeys;
import io.farpage.agent.rest.DescribedMetrics;
import io.farpage.config.ExitCodes;
import io.farpage.config.ReferencePage;
import io.farpage.config.Subcommands;
import io.farpage.config.Version;
import io.farpage.rest.MetricsPage;
import io.farpage.trace.TracedCommands;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The program {@code page-agent}. */
@Command(
        name = "page-agent",
        versionProvider = Version.class,
        mixinStandardHelpOptions = true,
        description = "The farpage daemon of one node: exports memory to its peers and fetches pages from theirs.")
public final class Main implements Callable<Integer> {
    private static final List<Class<?>> COMMANDS = List.of(
            RunCommand.class,
            JoinCommand.class,
            GuestCommands.Attach.class,
            GuestCommands.Detach.class,
            GuestCommands.Resize.class,
            GuestCommands.Show.class,
            DirectoriesCommand.class,
            ParkCommands.Park.class,
            ParkCommands.Unpark.class,
            SnapshotCommand.class,
            LatencyCommand.class,
            ImageCommands.Save.class,
            ImageCommands.Load.class,
            SpaceCommand.class,
            PageCommand.class,
            DoctorCommand.class,
            UpgradeCommand.class,
            LibvirtHookCommand.class,
            CloudHypervisorCommand.class,
            MountCommand.class,
            KeeperCommands.Run.class,
            KeeperCommands.Drop.class,
            Main.ConfigReference.class,
            Main.MetricsReference.class);

    @Spec
    @SuppressWarnings("NullAway.Init") // set by picocli
    private CommandSpec spec;

    private Main() {}

    /** Runs the program. */
    public static void main(String[] args) {
        System.exit(commandLine(args).execute(args));
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
        TracedCommands.install(program, "page-agent", Set.of("run", "keeper", "mount"));
        return program;
    }

    @Override
    public Integer call() {
        throw new ParameterException(
                spec.commandLine(),
                "give a command: run, join, attach, detach, resize, guests, park, unpark, latency, save, load, space,"
                        + " page, doctor, upgrade, libvirt-hook, cloud-hypervisor-restore, mount, keeper,"
                        + " keeper-drop, config-reference or metrics-reference (page-agent run --help)");
    }

    /** Prints the reference page of the configuration. */
    @Command(
            name = "config-reference",
            mixinStandardHelpOptions = true,
            description = "Print every configuration key, with its default and what is allowed, as Markdown.")
    static final class ConfigReference implements Callable<Integer> {
        @Override
        public Integer call() {
            System.out.print(ReferencePage.of(AgentKeys.SCHEMA));
            return 0;
        }
    }

    /** Prints the reference page of the metrics. */
    @Command(
            name = "metrics-reference",
            mixinStandardHelpOptions = true,
            description = "Print every metric, with its type, unit, labels and meaning, as Markdown.")
    static final class MetricsReference implements Callable<Integer> {
        @Override
        public Integer call() {
            System.out.print(MetricsPage.of("page-agent", DescribedMetrics.all()));
            return 0;
        }
    }
}
