package io.farpage.agent.command;

import io.farpage.agent.config.AgentKeys;
import io.farpage.agent.config.AgentOptions;
import io.farpage.agent.control.keeper.Keeper;
import io.farpage.agent.control.keeper.KeeperException;
import io.farpage.agent.control.keeper.KeptMemory;
import io.farpage.agent.node.Host;
import io.farpage.agent.node.PoolKeeping;
import io.farpage.agent.rest.SocketDirectory;
import io.farpage.config.Config;
import io.farpage.config.ConfigException;
import io.farpage.linux.Errno;
import io.farpage.linux.FileIo;
import io.farpage.supervise.Supervision;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** Commands of the process that keeps an agent's memory. */
public final class KeeperCommands {
    private KeeperCommands() {}

    private static Path socket(Config config) {
        // The certificate, which may name the node, is not the keeper's to read.
        return PoolKeeping.socket(config, AgentOptions.nodeId(config, Host.name()));
    }

    /** Waits a moment for what serves to end. */
    static void join(Thread serving) {
        try {
            serving.join(2_000);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static int fail(CommandSpec spec, Exception e) {
        PrintWriter err = spec.commandLine().getErr();
        String.valueOf(e.getMessage()).lines().forEach(line -> err.println("page-agent: " + line));
        return 1;
    }

    /** {@code page-agent keeper}: until SIGTERM. */
    @Command(
            name = "keeper",
            mixinStandardHelpOptions = true,
            description =
                    "Keep the memory of this node's agent while the agent is started again, until SIGTERM. Run it as a"
                            + " service of its own: it must not end when the agent does.")
    public static final class Run implements Callable<Integer> {
        @Spec
        @SuppressWarnings("NullAway.Init") // set by picocli
        private CommandSpec spec;

        @Mixin
        private final ConfigOptions configuration = new ConfigOptions();

        @Override
        public Integer call() {
            try {
                Config config = configuration.load();
                if (config.get(AgentKeys.KEEPER_SOCKET).isEmpty()) {
                    SocketDirectory.makeOwn();
                }
                Keeper keeper = Keeper.listen(socket(config));
                // It has no watchdog: what it holds is lost when it is killed, so that it is never killed for being
                // slow.
                Supervision supervision = Supervision.begin(System.getenv(), Optional::empty);
                Thread serving = Thread.currentThread();
                Runtime.getRuntime()
                        .addShutdownHook(new Thread(
                                () -> {
                                    supervision.stopping();
                                    keeper.close();
                                    join(serving);
                                },
                                "stop"));
                spec.commandLine().getOut().println("page-agent keeper listening on " + keeper.path());
                supervision.ready("listening on " + keeper.path());
                keeper.run();
                return 0;
            } catch (ConfigException | IOException | IllegalArgumentException e) {
                return fail(spec, e);
            }
        }
    }

    /** {@code page-agent keeper-drop}: for a pool that is damaged, or whose configuration has changed. */
    @Command(
            name = "keeper-drop",
            mixinStandardHelpOptions = true,
            description =
                    "Have the keeper let go of the pool of an agent that does not run. All pages in it are lost; the"
                            + " agent starts with an empty pool.")
    public static final class Drop implements Callable<Integer> {
        @Spec
        @SuppressWarnings("NullAway.Init") // set by picocli
        private CommandSpec spec;

        @Mixin
        private final ConfigOptions configuration = new ConfigOptions();

        @Override
        public Integer call() {
            try (KeptMemory memory = KeptMemory.claimToDrop(socket(configuration.load()))) {
                Optional<Integer> left = memory.takeAdopted();
                left.ifPresent(descriptor -> FileIo.close(Errno.ofThread(), descriptor));
                memory.drop();
                spec.commandLine().getOut().println(left.isPresent() ? "dropped" : "nothing was kept");
                return 0;
            } catch (ConfigException | KeeperException | IllegalArgumentException e) {
                return fail(spec, e);
            }
        }
    }
}
