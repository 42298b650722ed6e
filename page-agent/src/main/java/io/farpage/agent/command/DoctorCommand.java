package io.farpage.agent.command;

import io.farpage.agent.config.Providers;
import io.farpage.agent.doctor.Doctor;
import io.farpage.agent.doctor.Level;
import io.farpage.agent.doctor.Report;
import io.farpage.agent.doctor.Tree;
import io.farpage.config.Config;
import io.farpage.config.ConfigException;
import java.io.Console;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code page-agent doctor}: finds what on this host is in the way of paging over RDMA. */
@Command(
        name = "doctor",
        mixinStandardHelpOptions = true,
        description = {
            "Check this host: RDMA devices, memory, limits, paging, network. Each line is ok, warn or fail, with the"
                    + " command that mends it. Nothing is changed. Run it as the user and with the limits that the"
                    + " agent will have.",
            "",
            "warn: the agent runs, slower or without something. fail: what the configuration asks for is not available,"
                    + " such as RDMA with transport.mode=rdma, hugepages or locking that are required, a pool that a"
                    + " limit forbids, a port that is taken, a coordinator that is configured and does not answer."
        },
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:nothing failed; there may be warnings",
            "1:something that the configuration needs failed",
            "2:the command line or the configuration cannot be used"
        })
public final class DoctorCommand implements Callable<Integer> {
    @Spec
    @SuppressWarnings("NullAway.Init") // set by picocli
    private CommandSpec spec;

    private static final int FAILED = 1;
    private static final int UNUSABLE = 2;

    @Mixin
    private final ConfigOptions configuration = new ConfigOptions();

    @Option(names = "--json", description = "Print one JSON document")
    private boolean json;

    @Option(
            names = "--root",
            paramLabel = "DIR",
            hidden = true,
            description =
                    "Read /sys, /proc and /dev below this folder; what is tried for real is still tried on this host")
    private Path root = Path.of("/");

    @Override
    public Integer call() {
        Config config;
        try {
            config = configuration.load();
        } catch (ConfigException e) {
            spec.commandLine().getErr().println("page-agent: " + e.getMessage());
            return UNUSABLE;
        }
        Report report =
                Doctor.of(config, new Tree(root), Providers.rdma(config)).examine();
        PrintWriter out = spec.commandLine().getOut();
        out.print(json ? report.json() + "\n" : report.text(isTerminal()));
        out.flush();
        return report.result() == Level.FAIL ? FAILED : 0;
    }

    private static boolean isTerminal() {
        return Optional.ofNullable(System.console()).filter(Console::isTerminal).isPresent()
                && System.getenv("NO_COLOR") == null;
    }
}
