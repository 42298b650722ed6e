package io.farpage.cli;

import io.farpage.agent.rehearsal.RehearsalGuest;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.linux.PosixException;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.Writer;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import picocli.CommandLine;

/**
 * A clone that is started while the classes of the programs are recorded, so that the first one on a host need not wait
 * for them.
 *
 * @param files where the agents have their sockets
 * @param coordinator its URL
 */
record TrainedClone(Path files, String coordinator) {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final Duration POLL = Duration.ofMillis(20);
    private static final int PAGES = 256;
    private static final int PAGE = 4096;

    /** Starts it once {@code agents} agents are registered. Returns whether it was started; errors are printed. */
    boolean start(int agents) throws IOException, InterruptedException {
        awaitRegistered(agents);
        byte[] memory = new byte[PAGES * PAGE];
        Arrays.fill(memory, (byte) 1);
        Path image = Files.write(files.resolve("golden.image"), memory);
        Path handoff = files.resolve("clone.handoff");
        boolean isAttached = space("create", "golden", "--size=" + memory.length, "--thin")
                && agent("load", "--space=golden", "--file=" + image)
                && space("snapshot", "golden")
                && agent("attach", "--space=clone", "--clone-of=golden", "--socket=" + handoff);
        if (!isAttached) {
            return false;
        }
        try (RehearsalGuest guest = RehearsalGuest.handOver(handoff, PAGES)) {
            guest.use();
        } catch (PosixException e) {
            // This user may not have a userfaultfd: the classes of a handoff are loaded when they are needed.
            return agent("detach", "--space=clone");
        }
        return true;
    }

    private void awaitRegistered(int agents) throws IOException, InterruptedException {
        long end = System.nanoTime() + PATIENCE.toNanos();
        try (CoordinatorClient client = new CoordinatorClient(URI.create(coordinator), PATIENCE)) {
            while (client.nodes().stream()
                            .filter(node -> node.status() == NodeStatus.ACTIVE)
                            .count()
                    < agents) {
                if (System.nanoTime() - end > 0) {
                    throw new IOException(
                            "%d agents are not registered within %d s".formatted(agents, PATIENCE.toSeconds()));
                }
                Thread.sleep(POLL);
            }
        } catch (CoordinatorException e) {
            throw new IOException(e);
        }
    }

    private boolean space(String... arguments) {
        List<String> all = List.of("space");
        return run(io.farpage.coordinator.Main.commandLine("space"), all, arguments, "--coordinator=" + coordinator);
    }

    private boolean agent(String command, String... arguments) {
        return run(
                io.farpage.agent.Main.commandLine(command),
                List.of(command),
                arguments,
                "--agent=unix:" + files.resolve("two.sock"));
    }

    private static boolean run(CommandLine program, List<String> first, String[] then, String last) {
        List<String> all = new ArrayList<>(first);
        all.addAll(List.of(then));
        all.add(last);
        return program.setOut(new PrintWriter(Writer.nullWriter())).execute(all.toArray(String[]::new)) == 0;
    }
}
