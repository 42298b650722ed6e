package io.farpage.it.harness;

import static io.farpage.it.deadlines.Deadlines.await;

import io.farpage.agent.Main;
import io.farpage.it.deadlines.Deadlines;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/** A {@code page-agent keeper} of one node. */
public final class KeeperProcess implements AutoCloseable {
    private final String node;
    private final Path socket;
    private ChildJvm process;

    private KeeperProcess(String node, Path socket, ChildJvm process) {
        this.node = node;
        this.socket = socket;
        this.process = process;
    }

    /** Starts one and waits until it listens. */
    public static KeeperProcess start(String node, Path socket) {
        return new KeeperProcess(node, socket, launch(node, socket));
    }

    private static ChildJvm launch(String node, Path socket) {
        ChildJvm process = ChildJvm.start(
                "keeper-" + node,
                Main.class,
                List.of("keeper", "--set", "node.id=" + node, "--set", "keeper.socket=" + socket));
        await("the keeper of " + node, Deadlines.LONG)
                .pollInterval(Duration.ofMillis(20))
                .until(() -> process.out().contains("listening") || !process.isAlive());
        if (!process.isAlive()) {
            throw new AssertionError(process.describe());
        }
        return process;
    }

    /** Starts it again after it has ended. */
    public void restart() {
        process = launch(node, socket);
    }

    /** What an agent needs to be kept here. */
    public Map<String, String> settings() {
        return Map.of("keeper.mode", "process", "keeper.socket", socket.toString());
    }

    public Path socket() {
        return socket;
    }

    public ChildJvm process() {
        return process;
    }

    @Override
    public void close() {
        process.close();
    }
}
