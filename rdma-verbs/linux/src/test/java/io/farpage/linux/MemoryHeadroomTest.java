package io.farpage.linux;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MemoryHeadroomTest {
    private static final long MIB = 1 << 20;

    @TempDir
    @SuppressWarnings("NullAway.Init") // JUnit sets it before each test.
    private Path root;

    @BeforeEach
    void machineWithOneGibibyte() throws IOException {
        write("proc/meminfo", "MemFree: 1 kB\nMemAvailable:   1048576 kB\n");
    }

    @Test
    void shouldBeWhatTheMachineHasWithoutAGroup() throws IOException {
        write("proc/self/cgroup", "0::/\n");
        assertEquals(1024 * MIB, headroom().bytes());
    }

    @Test
    void shouldFindALimitOfAGroupAbove() throws IOException {
        write("proc/self/cgroup", "0::/system.slice/agent.service\n");
        write("cgroup/system.slice/memory.max", 600 * MIB + "\n");
        write("cgroup/system.slice/memory.current", 100 * MIB + "\n");
        write("cgroup/system.slice/agent.service/memory.max", "max\n");
        write("cgroup/system.slice/agent.service/memory.current", 100 * MIB + "\n");
        assertEquals(500 * MIB, headroom().bytes());
        assertTrue(
                headroom().source().endsWith("system.slice/memory.max = " + 600 * MIB),
                headroom().source());
    }

    @Test
    void shouldKnowTheFirstVersionOfGroups() throws IOException {
        write("proc/self/cgroup", "5:cpu,cpuacct:/elsewhere\n4:memory:/a/b\n0::/\n");
        write("cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
        write("cgroup/memory/memory.usage_in_bytes", "1000\n");
        write("cgroup/memory/a/memory.limit_in_bytes", 300 * MIB + "\n");
        write("cgroup/memory/a/memory.usage_in_bytes", 350 * MIB + "\n");
        assertEquals(0, headroom().bytes(), "above its limit already");
    }

    @Test
    void shouldReadNothingOutsideTheGroupsWhenPathIsTheHosts() throws IOException {
        write("proc/self/cgroup", "0::/../../etc\n");
        write("cgroup/memory.max", 64 * MIB + "\n");
        write("cgroup/memory.current", "0\n");
        assertEquals(1024 * MIB, headroom().bytes());
        write("proc/self/cgroup", "0::/docker/of-the-host\n");
        assertEquals(64 * MIB, headroom().bytes(), "the root is the container's own group");
    }

    @Test
    void shouldCountThePageCacheOfAnotherProcessAsLeft() throws IOException {
        write("proc/77/cgroup", "4:memory:/vmm\n0::/vmm.scope\n");
        write("cgroup/memory/vmm/memory.limit_in_bytes", 300 * MIB + "\n");
        write("cgroup/memory/vmm/memory.usage_in_bytes", 250 * MIB + "\n");
        write(
                "cgroup/memory/vmm/memory.stat",
                "inactive_file %d\nshmem 1\ntotal_inactive_file %d\ntotal_active_file %d\n"
                        .formatted(5 * MIB, 20 * MIB, 10 * MIB));
        assertEquals(80 * MIB, ofGroups(77).orElseThrow().bytes());
        write("cgroup/vmm.scope/memory.max", 100 * MIB + "\n");
        write("cgroup/vmm.scope/memory.current", 60 * MIB + "\n");
        write("cgroup/vmm.scope/memory.stat", "anon 1\ninactive_file %d\nactive_file 0\n".formatted(7 * MIB));
        assertEquals(47 * MIB, ofGroups(77).orElseThrow().bytes());
    }

    @Test
    void shouldLeaveTheMachineAsideForAnotherProcess() throws IOException {
        write("proc/77/cgroup", "0::/\n");
        assertEquals(Optional.empty(), ofGroups(77));
        assertEquals(Optional.empty(), ofGroups(78), "it has ended");
    }

    private Optional<MemoryHeadroom> ofGroups(int pid) {
        return MemoryHeadroom.ofGroups(pid, root.resolve("proc"), root.resolve("cgroup"));
    }

    @Test
    void shouldReadTheRealOnes() {
        assertTrue(MemoryHeadroom.ofThisProcess().orElseThrow().bytes() > 0);
    }

    private MemoryHeadroom headroom() {
        return MemoryHeadroom.of(root.resolve("proc"), root.resolve("cgroup")).orElseThrow();
    }

    private void write(String path, String text) throws IOException {
        Path file = root.resolve(path);
        Files.createDirectories(file.resolveSibling("."));
        Files.writeString(file, text);
    }
}
