package io.farpage.it.harness;

import static io.farpage.it.deadlines.Deadlines.await;

import io.farpage.agent.Main;
import io.farpage.it.deadlines.Deadlines;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** A {@code page-agent mount} of one node. Its agent needs {@link #settings}. */
public final class MountProcess implements AutoCloseable {
    private static final int TERMINATED = 128 + 15;

    private final Path directory;
    private final ChildJvm process;

    private MountProcess(Path directory, ChildJvm process) {
        this.directory = directory;
        this.process = process;
    }

    /** What an agent must have for the mount process of its node. */
    public static Map<String, String> settings(Path sockets, String node) {
        return Map.of("mount.socket", sockets.resolve(node + ".mounts").toString());
    }

    /** Starts one and waits until the agent serves it. */
    public static MountProcess start(Path sockets, String node, Path directory, String... options) {
        List<String> arguments = new ArrayList<>(List.of("mount", "--directory", directory.toString()));
        arguments.addAll(List.of("--set", "node.id=" + node));
        settings(sockets, node).forEach((key, value) -> arguments.addAll(List.of("--set", key + "=" + value)));
        arguments.addAll(List.of(options));
        MountProcess mount = new MountProcess(directory, ChildJvm.start("mount-" + node, Main.class, arguments));
        await("the mount of " + node, Deadlines.LONG)
                .pollInterval(Duration.ofMillis(20))
                .until(() -> mount.process.out().contains("snapshots are files") || !mount.process.isAlive());
        if (!mount.process.isAlive()) {
            throw new AssertionError(mount.process.describe());
        }
        return mount;
    }

    /** The file of a snapshot. */
    public Path file(String snapshot) {
        return directory.resolve(snapshot);
    }

    public ChildJvm process() {
        return process;
    }

    @Override
    public void close() {
        process.terminate();
        int code = process.awaitEnd();
        process.close();
        if (code != TERMINATED) {
            throw new AssertionError("exit code " + code + "\n" + process.describe());
        }
    }
}
