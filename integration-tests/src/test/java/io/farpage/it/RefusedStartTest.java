package io.farpage.it;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.Main;
import io.farpage.it.harness.ChildJvm;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.TwoNodes;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Programs that cannot start say so in one line for each thing that is wrong, end with a code that is not 0, and leave nothing behind. */
@ExtendWith(TwoNodes.class)
class RefusedStartTest {
    private static final int MEMORY_FACTOR = 4;

    @TempDir
    Path directory;

    @Test
    void shouldNameEveryFaultOfAnAgentsConfigurationAtOnce() throws Exception {
        Path file = Files.writeString(directory.resolve("agent.yaml"), """
                node:
                  id: UPPER
                shard:
                  idel: block
                """);
        String said = refused(
                agent(
                        Map.of("FARPAGE_FETCH_DEPTH", "many"),
                        "--config",
                        file.toString(),
                        "--set",
                        "pool.exported=lots",
                        "--set",
                        "transport.mode=pigeon"),
                5);
        for (String part : List.of("UPPER", "shard.idel", "did you mean shard.idle", "many", "lots", "pigeon")) {
            assertTrue(said.contains(part), part + " in " + said);
        }
    }

    @Test
    void shouldNameEveryFaultOfACoordinatorsConfigurationAtOnce() {
        String said = refused(
                coordinator("-D", "lease.duration=0s", "-D", "server.lisen=127.0.0.1:1", "-D", "events.retained=-1"),
                3);
        for (String part : List.of("lease.duration", "did you mean server.listen", "events.retained")) {
            assertTrue(said.contains(part), part + " in " + said);
        }
    }

    @Test
    void shouldRefuseAPortThatIsTaken(Cluster cluster) {
        String taken = cluster.agent("a").rest().base().getAuthority();
        List<ChildJvm> both = List.of(
                agent(Map.of(), "--set", "api.listen=" + taken, "--set", "pool.exported=8MiB"),
                coordinator("-D", "server.listen=" + taken, "-D", "store.directory=" + directory.resolve("store")));
        for (ChildJvm child : both) {
            String said = refused(child, 1);
            assertTrue(said.contains(taken) && said.contains("taken"), said);
        }
        String port = Integer.toString(cluster.agent("a").rest().base().getPort());
        String said = refused(agent(Map.of(), "--set", "tcp.port=" + port), 1);
        assertTrue(said.contains(port), said);
    }

    @Test
    void shouldRefuseAPoolLargerThanMemory() {
        long bytes = MEMORY_FACTOR * physicalMemory() / (2 << 20) * (2 << 20);
        String said =
                refused(agent(Map.of(), "--set", "pool.exported=" + bytes + "B", "--set", "pool.hugepages=off"), 1);
        assertTrue(said.contains("pool") || said.contains("memory"), said);
    }

    @Test
    void shouldRefuseHugepagesThatAreRequiredAndNotThere() {
        String said = refused(
                agent(
                        Map.of(),
                        "--set",
                        "pool.hugepages=require",
                        "--set",
                        "pool.exported=1GiB",
                        "--set",
                        "pool.hugepage_size=1GiB"),
                1);
        assertTrue(said.contains("hugepages"), said);
    }

    @Test
    void shouldRefusePoolsThatAreNoMultipleOfAPageOrTooSmallForTheLinks() {
        String odd = refused(agent(Map.of(), "--set", "pool.exported=5000B"), 1);
        assertTrue(odd.contains("5000"), odd);
        String small = refused(
                agent(
                        Map.of(),
                        "--set",
                        "pool.staging=2MiB",
                        "--set",
                        "pool.exported=2MiB",
                        "--set",
                        "rdma.max_send_wr=16384",
                        "--set",
                        "rdma.mtu=1000"),
                1);
        assertTrue(small.contains("1000"), small);
    }

    @Test
    void shouldRefuseCpusThatAreNotOneForEachShardAndHeadersThatDoNotFit() {
        String cpus = refused(agent(Map.of(), "--set", "shard.count=2", "--set", "shard.cpu=1"), 1);
        assertTrue(cpus.contains("shard.cpu names 1 CPUs, [1], but shard.count is 2"), cpus);
        String headers = refused(
                agent(Map.of(), "--set", "shard.count=16", "--set", "link.max=1024", "--set", "pool.staging=2MiB"), 1);
        assertTrue(headers.contains("pool.staging of 2097152 bytes has too little room"), headers);
        String many = refused(agent(Map.of(), "--set", "shard.count=17"), 1);
        assertTrue(many.contains("shard.count: '17'") && many.contains("from 1 to 16"), many);
    }

    @Test
    void shouldRefuseRdmaThatIsAskedForAndNotThere() {
        if (Files.exists(Path.of("/sys/class/infiniband"))) {
            org.junit.jupiter.api.Assumptions.abort("this host has RDMA devices");
        }
        String said = refused(agent(Map.of(), "--set", "transport.mode=rdma"), 1);
        assertTrue(said.contains("transport.mode"), said);
    }

    @Test
    void shouldRefuseAStoreThatAnotherCoordinatorUsesAndOneThatIsNoDirectory(Cluster cluster) throws Exception {
        String inUse = refused(
                coordinator("-D", "store.directory=" + cluster.coordinator().store()), 1);
        assertTrue(inUse.contains(cluster.coordinator().store().toString()), inUse);
        Path file = Files.writeString(directory.resolve("file"), "");
        String said = refused(coordinator("-D", "store.directory=" + file.resolve("below")), 1);
        assertTrue(said.contains(file.toString()), said);
    }

    @Test
    void shouldRefuseAddressesThatDoNotExist() {
        String host = refused(agent(Map.of(), "--set", "tcp.address=no-such-host.invalid"), 1);
        assertTrue(host.contains("no-such-host.invalid"), host);
        String url = refused(agent(Map.of(), "--set", "coordinator.url=ftp://x"), 1);
        assertTrue(url.contains("ftp://x"), url);
        String foreign = refused(agent(Map.of(), "--set", "api.listen=192.0.2.1:0"), 1);
        assertTrue(foreign.contains("192.0.2.1"), foreign);
    }

    private static ChildJvm agent(Map<String, String> environment, String... arguments) {
        List<String> all =
                new ArrayList<>(List.of("run", "--set", "api.listen=127.0.0.1:0", "--set", "pool.staging=4MiB"));
        all.addAll(List.of(arguments));
        return ChildJvm.start("refused-agent", io.farpage.agent.Main.class, all, environment);
    }

    private static ChildJvm coordinator(String... arguments) {
        return ChildJvm.start(
                "refused-coordinator",
                Main.class,
                Stream.concat(Stream.of("run"), Stream.of(arguments)).toList());
    }

    /** Waits for a program that cannot start. Gives the lines it said, apart from those of its log. */
    private static String refused(ChildJvm child, int lines) {
        try (child) {
            assertNotEquals(0, child.awaitEnd(), child.err());
            String said = child.err();
            List<String> ours = said.lines()
                    .filter(line -> line.startsWith("page-agent: ") || line.startsWith("coordinator: "))
                    .toList();
            assertEquals(lines, ours.size(), said);
            assertFalse(said.contains("\tat ") || said.contains("Exception"), said);
            List<String> others = said.lines()
                    .filter(line -> !ours.contains(line) && !line.matches("\\d{4}-\\d\\d-\\d\\dT.* (INFO |WARN ) .*"))
                    .toList();
            assertEquals(List.of(), others, said);
            return String.join("\n", ours);
        }
    }

    private static long physicalMemory() {
        return java.lang.management.ManagementFactory.getPlatformMXBean(com.sun.management.OperatingSystemMXBean.class)
                .getTotalMemorySize();
    }

    @Test
    void shouldLeaveNothingBehindInTheClusterWhenAStartIsRefused(Cluster cluster) throws Exception {
        refused(
                agent(
                        Map.of(),
                        "--set",
                        "node.id=never",
                        "--set",
                        "coordinator.url=" + cluster.coordinator().rest().base(),
                        "--set",
                        "api.listen=" + cluster.agent("a").rest().base().getAuthority()),
                1);
        await().atMost(Cluster.TIMEOUT)
                .until(() -> cluster.client().node("never").isEmpty());
        assertTrue(cluster.client().node("never").isEmpty());
    }
}
