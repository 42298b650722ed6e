package io.farpage.coordinator.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.cluster.FakeTime;
import io.farpage.coordinator.cluster.Fixture;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.it.deadlines.Deadlines;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A coordinator whose store is on a file system of 1 MiB of its own. */
class FullDiskTest {

    private final Path disk;
    private boolean mounted;

    FullDiskTest(@TempDir Path directory) throws IOException {
        disk = Files.createDirectory(directory.resolve("disk"));
    }

    @AfterEach
    void unmount() throws Exception {
        if (mounted) {
            run("umount", disk.toString());
        }
    }

    private static boolean run(String... command) throws Exception {
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start();
        return process.waitFor(30, TimeUnit.SECONDS) && process.exitValue() == 0;
    }

    private void mount() throws Exception {
        mounted = run("mount", "-t", "tmpfs", "-o", "size=1m", "farpage-test", disk.toString());
        assumeTrue(mounted, "a tmpfs cannot be mounted by this user; run as root");
    }

    private Path fill() throws IOException {
        Path filler = disk.resolve("filler");
        try (OutputStream out = Files.newOutputStream(filler)) {
            while (true) {
                out.write(new byte[4096]);
            }
        } catch (IOException full) {
            return filler;
        }
    }

    private static boolean create(Running running, String name) {
        try {
            running.client.createSpace(new SpaceRequest(name, 4096, OptionalInt.empty(), Optional.empty()));
            return true;
        } catch (CoordinatorException e) {
            return false;
        }
    }

    @Test
    void shouldTakeChangesAgainByItselfWhenTheFullDiskWasCleared() throws Exception {
        mount();
        List<String> made = new ArrayList<>();
        try (Running running = new Running(disk.resolve("store"), new FakeTime(), Map.of())) {
            running.client.register("a", Fixture.node(1, 1 << 20));
            Path filler = fill();
            int tried = 0;
            while (create(running, "s" + tried)) {
                made.add("s" + tried++);
            }
            assertEquals(503, running.send("GET", "/health", "").statusCode());
            assertEquals(200, running.send("GET", "/live", "").statusCode(), "a start would not help");
            assertEquals(made, names(running), "what failed is not shown");
            assertEquals(
                    List.of("a"), running.client.nodes().stream().map(Node::id).toList());

            Files.delete(filler);
            Deadlines.await("health", Deadlines.LONG)
                    .until(() -> running.send("GET", "/health", "").statusCode() == 200);
            assertEquals(true, create(running, "after"));
            made.add("after");
            assertEquals(made, names(running));
        }
        try (Running running = new Running(disk.resolve("store"), new FakeTime(), Map.of())) {
            assertEquals(made, names(running));
        }
    }

    private static List<String> names(Running running) throws CoordinatorException {
        return running.client.spaces().stream().map(Space::name).toList();
    }
}
