package io.farpage.agent.command;

import io.farpage.agent.client.AgentAddress;
import io.farpage.agent.client.AgentClient;
import io.farpage.agent.client.AgentTarget;
import io.farpage.agent.client.NoAgentException;
import io.farpage.agent.command.Upgrade.UpgradeException;
import io.farpage.agent.config.AgentKeys;
import io.farpage.agent.control.keeper.KeeperMode;
import io.farpage.agent.control.keeper.KeeperState;
import io.farpage.agent.control.keeper.Standby;
import io.farpage.agent.node.Doors;
import io.farpage.agent.node.PoolKeeping;
import io.farpage.agent.rest.AgentOperations;
import io.farpage.agent.rest.SocketDirectory;
import io.farpage.config.Config;
import io.farpage.config.ConfigException;
import io.farpage.config.DurationOption;
import io.farpage.tls.ClientOptions;
import java.io.File;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code page-agent upgrade}: a process of the installed version replaces that of the agent. */
@Command(
        name = "upgrade",
        mixinStandardHelpOptions = true,
        description = {
            "Replace the running agent of this node by a process of the installed version. Its guests go on: their"
                    + " threads wait at their next fault until the successor serves it. Needs keeper.mode process.",
            "",
            "The successor starts as a standby. When it is warm, the agent ends and the successor goes on with the pool"
                    + " and the guests. If the successor does not become warm, or the agent refuses, the agent goes on"
                    + " and nothing has changed."
        })
public final class UpgradeCommand implements Callable<Integer> {
    @Spec
    @SuppressWarnings("NullAway.Init") // set by picocli
    private CommandSpec spec;

    private static final int REFUSED = 1;
    private static final Duration REQUEST = Duration.ofSeconds(30);

    @Mixin
    private final ConfigOptions configuration = new ConfigOptions();

    @Option(
            names = "--to-standby",
            description =
                    "Hand over to the standby that waits, rather than starting a process. For agents that a supervisor"
                            + " runs")
    private boolean toStandby;

    @Option(
            names = "--deadline",
            paramLabel = "TIME",
            converter = DurationOption.class,
            defaultValue = "60s",
            description =
                    "How long the successor may take to become warm, and to take over (default: ${DEFAULT-VALUE})")
    private Duration deadline = Duration.ofSeconds(60);

    @Option(
            names = "--log",
            paramLabel = "FILE",
            description = "Append the successor's output to this file (default: the output of this command)")
    private @Nullable Path log;

    @Override
    public Integer call() throws InterruptedException {
        try {
            Config config = configuration.load();
            if (config.get(AgentKeys.KEEPER_MODE) != KeeperMode.PROCESS) {
                throw new UpgradeException(
                        "keeper.mode is off, so the guests of the agent end with its process; set keeper.mode to"
                                + " process, start 'page-agent keeper', and start the agent again");
            }
            String node = Doors.nodeOf(config);
            return upgrade(config, node, PoolKeeping.socket(config, node));
        } catch (UpgradeException e) {
            return fail(e.getMessage() + "; nothing has changed");
        } catch (ConfigException | IOException | NoAgentException | IllegalArgumentException e) {
            return fail(String.valueOf(e.getMessage()));
        }
    }

    private int fail(String message) {
        PrintWriter err = spec.commandLine().getErr();
        message.lines().forEach(line -> err.println("page-agent: " + line));
        return REFUSED;
    }

    private int upgrade(Config config, String node, Path keeper)
            throws UpgradeException, IOException, InterruptedException {
        KeeperState before = look(keeper);
        if (before.agent() == 0) {
            throw new UpgradeException("no agent of node '%s' runs: start one with 'page-agent run'".formatted(node));
        }
        if (toStandby && before.standby() == 0) {
            throw new UpgradeException(
                    "no standby of node '%s' is warm; start one with keeper.standby true, or leave out --to-standby"
                            .formatted(node));
        }
        Upgrade upgrade = new Upgrade(
                new Upgrade.Node() {
                    @Override
                    public KeeperState look() throws IOException {
                        return UpgradeCommand.look(keeper);
                    }

                    @Override
                    public void requestHandover() throws UpgradeException, InterruptedException {
                        request(address(config, node));
                    }
                },
                deadline,
                spec.commandLine().getOut());
        int successor = upgrade.begin(before, toStandby ? Optional.empty() : Optional.of(start()));
        long began = System.nanoTime();
        KeeperState now = look(keeper);
        while (now.agent() != successor && System.nanoTime() - began < deadline.toNanos()) {
            Thread.sleep(Upgrade.PAUSE);
            now = look(keeper);
        }
        if (now.agent() != successor) {
            return fail(("process %d was asked to hand over to process %d, and has not within %s; the keeper says that"
                            + " process %d is the agent")
                    .formatted(before.agent(), successor, deadline, now.agent()));
        }
        spec.commandLine().getOut().printf("process %d is the agent of '%s'%n", successor, node);
        return 0;
    }

    private static KeeperState look(Path keeper) throws IOException {
        try {
            return Standby.look(keeper);
        } catch (IOException e) {
            throw new IOException("no keeper of this version answers at %s: %s".formatted(keeper, e.getMessage()), e);
        }
    }

    /** Starts the installed version, in a session of its own, so that it outlives this command's terminal. */
    private Process start() throws UpgradeException, IOException {
        Optional<Path> program = Optional.ofNullable(System.getProperty("farpage.bin"))
                .map(bin -> Path.of(bin, "page-agent"))
                .filter(Files::isExecutable);
        List<String> command = new ArrayList<>();
        Path setsid = Path.of("/usr/bin/setsid");
        if (Files.isExecutable(setsid)) {
            command.add(setsid.toString());
        }
        command.add(program.orElseThrow(
                        () -> new UpgradeException("the program page-agent is not known: run bin/page-agent upgrade"))
                .toString());
        command.add("run");
        command.addAll(configuration.arguments());
        command.addAll(List.of("--set", AgentKeys.KEEPER_STANDBY.name() + "=true"));
        ProcessBuilder builder = new ProcessBuilder(command).redirectInput(new File("/dev/null"));
        ProcessBuilder.Redirect output =
                log == null ? ProcessBuilder.Redirect.INHERIT : ProcessBuilder.Redirect.appendTo(log.toFile());
        return builder.redirectOutput(output).redirectError(output).start();
    }

    private static AgentAddress address(Config config, String node) {
        return new AgentAddress.Unix(
                config.get(AgentKeys.API_SOCKET).orElseGet(() -> SocketDirectory.socket(SocketDirectory.own(), node)));
    }

    /** Asks the agent to hand over. Without an answer it may have begun: then the keeper tells. */
    private void request(AgentAddress agent) throws UpgradeException, InterruptedException {
        try (AgentClient client = AgentClient.open(agent, new ClientOptions(), REQUEST);
                AgentClient.Answer answer =
                        client.send(AgentOperations.HAND_OVER.at(), AgentTarget.JSON, AgentClient.Bytes.NONE)) {
            byte[] body = answer.body().readAllBytes();
            if (answer.status() / 100 != 2) {
                throw new UpgradeException(
                        "the agent at %s refuses: %s".formatted(agent, AgentTarget.detail(answer.status(), body)));
            }
        } catch (IOException e) {
            spec.commandLine()
                    .getErr()
                    .println("page-agent: the agent at " + agent + " has not answered: " + e.getMessage());
        }
    }
}
