package io.farpage.cli;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/**
 * {@code farpage train}: does what programs and commands do when they start, so that {@code build/aot-caches} can
 * record which classes they load.
 */
@Command(
        name = "train",
        hidden = true,
        description = "Runs programs or commands in this process, for a recording of the classes that they load.",
        mixinStandardHelpOptions = true,
        subcommands = {TrainCommand.Programs.class, TrainCommand.Commands.class})
final class TrainCommand implements Callable<Integer> {

    private static final Duration START = Duration.ofSeconds(60);
    private static final Duration POLL = Duration.ofMillis(20);
    private static final String PORT_FILE = "coordinator.port";

    @Spec
    private @Nullable CommandSpec spec;

    TrainCommand() {}

    @Override
    public Integer call() {
        throw new ParameterException(Objects.requireNonNull(spec).commandLine(), "Missing: programs or commands");
    }

    /** A coordinator and two agents that link to each other, and start a clone, until standard input ends. */
    @Command(
            name = "programs",
            description =
                    "Runs a coordinator and two agents on the loopback address, and starts a clone, until standard"
                            + " input ends.",
            mixinStandardHelpOptions = true)
    static final class Programs implements Callable<Integer> {

        @Parameters(paramLabel = "DIRECTORY", description = "Where they keep their files; must be empty.")
        private @Nullable Path directory;

        /** From now on the programs end with this process. */
        private volatile boolean ending;

        Programs() {}

        @Override
        public Integer call() throws IOException, InterruptedException {
            Path files = Objects.requireNonNull(directory).toAbsolutePath();
            start(
                    "coordinator",
                    io.farpage.coordinator.Main.commandLine("run"),
                    List.of(
                            "run",
                            "--port-file=" + files.resolve("coordinator.starting"),
                            "--set=server.listen=127.0.0.1:0",
                            "--set=store.directory=" + files.resolve("store")));
            String port = await(files.resolve("coordinator.starting"));
            List<String> nodes = List.of("one", "two");
            for (String node : nodes) {
                start(node, io.farpage.agent.Main.commandLine("run"), agent(files, node, port));
            }
            for (String node : nodes) {
                await(files.resolve(node + ".port"));
            }
            if (!new TrainedClone(files, "http://127.0.0.1:" + port).start(nodes.size())) {
                return 1;
            }
            // The commands begin when there is something to show.
            Files.writeString(files.resolve(PORT_FILE), port);
            while (System.in.read() >= 0) {}
            ending = true;
            return 0;
        }

        private static List<String> agent(Path files, String node, String port) {
            return List.of(
                    "run",
                    "--port-file=" + files.resolve(node + ".port"),
                    "--set=node.id=" + node,
                    "--set=coordinator.url=http://127.0.0.1:" + port,
                    "--set=api.listen=127.0.0.1:0",
                    "--set=api.socket=" + files.resolve(node + ".sock"),
                    "--set=pool.exported=8MiB",
                    "--set=pool.staging=2MiB",
                    "--set=pool.hugepages=off",
                    "--set=shard.realtime_priority=0",
                    "--set=link.grace=0ms");
        }

        private void start(String name, CommandLine program, List<String> arguments) {
            Thread.ofPlatform().daemon().name(name).start(() -> {
                int code = program.execute(arguments.toArray(String[]::new));
                // None of them ends by itself, unless it cannot start; it has said why.
                if (!ending) {
                    Runtime.getRuntime().halt(code == 0 ? 1 : code);
                }
            });
        }

        private static String await(Path portFile) throws IOException, InterruptedException {
            long end = System.nanoTime() + START.toNanos();
            while (!Files.exists(portFile)) {
                if (System.nanoTime() - end > 0) {
                    throw new IOException("no %s within %d s".formatted(portFile, START.toSeconds()));
                }
                Thread.sleep(POLL);
            }
            return Files.readString(portFile).strip();
        }
    }

    /** What an operator calls most. */
    @Command(
            name = "commands",
            description = "Runs operator's commands against a coordinator, and throws away what they print.",
            mixinStandardHelpOptions = true)
    static final class Commands implements Callable<Integer> {

        @Parameters(paramLabel = "URL", description = "The coordinator.")
        private @Nullable String coordinator;

        Commands() {}

        @Override
        public Integer call() {
            PrintWriter nowhere = new PrintWriter(Writer.nullWriter());
            int failed = 0;
            for (String name : List.of("status", "nodes", "spaces", "guests", "links", "events")) {
                CommandLine program =
                        io.farpage.coordinator.Main.commandLine(name).setOut(nowhere);
                failed = Math.max(failed, program.execute(name, "--coordinator=" + coordinator));
            }
            Main.commandLine("up").setOut(nowhere).execute("up", "--local=1", "--dry-run");
            Main.commandLine("--version").setOut(nowhere).execute("--version");
            io.farpage.coordinator.Main.commandLine("--version").setOut(nowhere).execute("--version");
            io.farpage.agent.Main.commandLine("--version").setOut(nowhere).execute("--version");
            return failed;
        }
    }
}
