package io.farpage.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.farpage.it.harness.ChildJvm;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.Guests;
import io.farpage.it.harness.NeedsUserfaultfd;
import io.farpage.it.harness.SharedRam;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/**
 * A VMM whose control group has less memory than the guest may have resident. The kernel ends a process whose group is
 * full.
 */
@NeedsUserfaultfd
class ControlGroupTest {
    private static final long MIB = 1 << 20;
    private static final long GROUP = 24 * MIB;
    private static final int GUEST_PAGES = (int) (32 * MIB / 4096);

    @TempDir
    private Path directory = Path.of("");

    @Test
    void shouldEvictBeforeTheGroupOfTheVmmIsFull() throws IOException {
        SharedRam program = SharedRam.compile(directory);
        Path group = makeGroup();
        try (Cluster cluster = Cluster.start()) {
            cluster.openAgent("a", Map.of("pool.exported", "8MiB"));
            cluster.openAgent("b", Map.of("pool.exported", "48MiB"));
            cluster.awaitAllLinks();
            runIn(group, program, cluster);
        } finally {
            Files.delete(group);
        }
    }

    private void runIn(Path group, SharedRam program, Cluster cluster) {
        Guests guests = new Guests(cluster, "a", "b");
        Path socket = directory.resolve("socket");
        guests.attach("grouped", socket, GUEST_PAGES * 4096L, GUEST_PAGES * 4096L);
        List<String> command = new ArrayList<>(
                List.of("sh", "-c", "echo $$ > '" + group.resolve("cgroup.procs") + "' && exec \"$@\"", "sh"));
        command.addAll(program.preloaded(SharedRam.QEMUS_NAME, GUEST_PAGES, "zeros", "rounds"));
        try (ChildJvm process =
                ChildJvm.launch("shared-ram", command, Map.of("FARPAGE_SOCKET", socket.toString()), directory)) {
            assertEquals(0, process.awaitEnd(), () -> process.out() + process.err());
            JsonNode status = guests.awaitEnded("grouped");
            assertTrue(status.get("peakResidentPages").asLong() * 4096 < GROUP, status::toString);
            assertTrue(status.get("evictions").asLong() > 0, status::toString);
        }
    }

    /** Below the group of this process, of either version; skips the test where that is not possible. */
    private static Path makeGroup() throws IOException {
        String name = "farpage-test-" + ProcessHandle.current().pid();
        for (String line : Files.readAllLines(Path.of("/proc/self/cgroup"))) {
            String[] fields = line.split(":", 3);
            boolean first = List.of(fields[1].split(",")).contains("memory");
            Path root = Path.of("/sys/fs/cgroup", first ? "memory" : "");
            Path group = Path.of(root + fields[2]).normalize().resolve(name);
            String limit = first ? "memory.limit_in_bytes" : "memory.max";
            if ((first || fields[1].isEmpty()) && Files.isWritable(group.getParent())) {
                Files.createDirectory(group);
                if (Files.isWritable(group.resolve(limit))) {
                    Files.writeString(group.resolve(limit), Long.toString(GROUP));
                    return group;
                }
                Files.delete(group);
            }
        }
        return assumeNever();
    }

    private static Path assumeNever() {
        assumeTrue(false, "no control group with a limit of memory can be made here");
        return Path.of("");
    }
}
