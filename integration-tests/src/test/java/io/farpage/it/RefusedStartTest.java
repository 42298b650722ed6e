package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.abort;

import io.farpage.agent.config.AgentKeys;
import io.farpage.agent.config.Providers;
import io.farpage.config.Config;
import io.farpage.coordinator.Main;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.ChildJvm;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.Command;
import io.farpage.it.harness.RefusedAgent;
import io.farpage.it.harness.TwoNodes;
import io.farpage.verbs.Availability;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/**
 * A program that cannot start prints one line for each fault, ends with a code that is not 0, and leaves nothing
 * behind.
 */
@ExtendWith(TwoNodes.class)
class RefusedStartTest {
    private static final int MEMORY_FACTOR = 4;
    private static final String EXPORTED_SIZE =
            "a size from 2MiB to 16TiB, as a number and one of B, KiB, MiB, GiB, TiB (or KB, MB, GB, TB)";

    @TempDir
    Path directory;

    @Test
    @Tag("processes")
    void shouldNameEveryFaultOfAnAgentsConfigurationAtOnce() throws Exception {
        Path file = Files.writeString(directory.resolve("agent.yaml"), """
                node:
                  id: UPPER
                shard:
                  idel: block
                """);
        refused(
                lines(agentProcess(
                        Map.of("FARPAGE_FETCH_DEPTH", "many"),
                        "--config",
                        file.toString(),
                        "--set",
                        "pool.exported=lots",
                        "--set",
                        "transport.mode=pigeon")),
                "page-agent: node.id: 'UPPER' from file " + file
                        + " is not valid: allowed is 1 to 63 of a-z, 0-9, . and -",
                "page-agent: key shard.idel from file " + file
                        + " is not a key of page-agent; did you mean shard.idle?",
                "page-agent: fetch.depth: 'many' from environment FARPAGE_FETCH_DEPTH is not valid: it is not a whole"
                        + " number; allowed is a whole number from 1 to 4096",
                "page-agent: pool.exported: 'lots' from command line is not valid: it is not a size, write for example"
                        + " 512MiB; allowed is " + EXPORTED_SIZE,
                "page-agent: transport.mode: 'pigeon' from command line is not valid: allowed is one of auto, rdma,"
                        + " tcp");
    }

    @Test
    void shouldNameEveryFaultOfACoordinatorsConfigurationAtOnce() {
        refused(
                coordinator(
                        "--set",
                        "lease.duration=0s",
                        "--set",
                        "server.lisen=127.0.0.1:1",
                        "--set",
                        "events.retained=-1"),
                "coordinator: lease.duration: '0s' from command line is not valid: it is out of range; allowed is a"
                        + " duration from 100ms to 1h, as a number and one of ns, us, ms, s, m, h, d",
                "coordinator: key server.lisen from command line is not a key of coordinator; did you mean"
                        + " server.listen?",
                "coordinator: events.retained: '-1' from command line is not valid: it is out of range; allowed is a"
                        + " whole number from 16 to 10000000");
    }

    @Test
    void shouldRefuseAPortThatIsTaken(Cluster cluster) {
        String taken = cluster.agent("a").rest().base().getAuthority();
        String message =
                "cannot listen on " + taken + ": the port is taken; stop what listens there or choose another port";
        refused(refusal("api.listen=" + taken, "pool.exported=8MiB"), message);
        refused(
                coordinator(
                        "--set", "server.listen=" + taken, "--set", "store.directory=" + directory.resolve("store")),
                "coordinator: " + message);
        int port = cluster.agent("a").rest().base().getPort();
        refused(
                refusal("tcp.port=" + port),
                ("open soft0: cannot listen on /127.0.0.1:%d: bind(/127.0.0.1:%d): EADDRINUSE; choose an address"
                                + " of this host and a port that is free (0 lets the system choose)")
                        .formatted(port, port));
    }

    @Test
    void shouldRefuseAPoolLargerThanMemory() {
        long bytes = MEMORY_FACTOR * physicalMemory() / (2 << 20) * (2 << 20);
        List<String> lines = refusal("pool.exported=" + bytes + "B", "pool.hugepages=off");
        assertEquals(
                List.of(("the pool needs %d bytes, N are left (LIMIT); fix: make the pool smaller, or raise the limit"
                                + " named")
                        .formatted(bytes + (4 << 20))),
                lines.stream()
                        .map(line -> line.replaceAll("\\d+ are left \\([^)]+\\)", "N are left (LIMIT)"))
                        .toList());
    }

    @Test
    void shouldRefuseHugepagesThatAreRequiredAndNotThere() {
        List<String> lines = refusal("pool.hugepages=require", "pool.exported=1GiB", "pool.hugepage_size=1GiB");
        Path pages = Path.of("/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages");
        assertEquals(
                List.of(
                        Files.exists(pages)
                                ? "the pool needs 2 hugepages of 1 GiB; of N there are N free and not reserved"
                                        + " (mmap: ERROR); fix: echo 2 > " + pages
                                : "the pool needs 2 hugepages of 1 GiB; this kernel offers none of that size"
                                        + " (mmap: ERROR); fix: use another hugepage size, or none"),
                lines.stream()
                        .map(line -> line.replaceAll("of \\d+ there are \\d+ free", "of N there are N free")
                                .replaceAll("mmap: E[A-Z]+", "mmap: ERROR"))
                        .toList());
    }

    @Test
    void shouldRefuseAPoolThatIsTooSmallAndAnMtuThatNoPortHas() {
        refused(
                refusal("pool.exported=5000B"),
                "pool.exported: '5000B' from command line is not valid: it is out of range; allowed is "
                        + EXPORTED_SIZE);
        refused(
                refusal("rdma.mtu=1000"),
                "rdma.mtu: '1000' from command line is not valid: allowed is 256, 512, 1024, 2048 or 4096");
    }

    @Test
    void shouldRefuseCpusThatDoNotMatchShardsAndHeadersThatDoNotFit() {
        refused(
                refusal("shard.count=2", "shard.cpu=1"),
                "shard.cpu names 1 CPUs, [1], but shard.count is 2; name one for each shard, or leave it out");
        refused(
                refusal("shard.count=16", "link.max=1024", "pool.staging=2MiB"),
                "pool.staging of 2097152 bytes has too little room beside the pool headers of link.max 1024 peers"
                        + " at each of shard.count 16 shards; raise it");
        refused(
                refusal("shard.count=17"),
                "shard.count: '17' from command line is not valid: it is out of range; allowed is a whole number"
                        + " from 1 to 16");
    }

    @Test
    void shouldRefuseRdmaThatIsRequiredAndNotThere() {
        Config defaults = AgentKeys.SCHEMA.load(Optional.empty(), Map.of(), Map.of());
        if (!(Providers.rdma(defaults).probe() instanceof Availability.Unavailable why)) {
            abort("this host has RDMA devices");
            return;
        }
        refused(
                refusal("transport.mode=rdma"),
                "transport.mode is rdma and no RDMA device is usable: " + why.reason() + ": " + why.detail() + "; "
                        + why.fix() + ", or set transport.mode to auto");
    }

    @Test
    @Tag("processes")
    void shouldRefuseAStoreThatIsInUseOrIsNotADirectory(Cluster cluster) throws Exception {
        Path store = cluster.coordinator().store();
        refused(
                lines(coordinatorProcess("--set", "store.directory=" + store)),
                "coordinator: store file " + store.resolve("coordinator.seals")
                        + " is in use by another process; stop that coordinator or set store.directory to another"
                        + " directory");
        Path file = Files.writeString(directory.resolve("file"), "");
        refused(
                coordinator("--set", "store.directory=" + file.resolve("below")),
                "coordinator: data directory " + file.resolve("below") + " cannot be made: " + file
                        + "; set store.directory to one that can be written");
    }

    @Test
    void shouldRefuseAddressesThatDoNotExist() {
        refused(
                refusal("tcp.address=no-such-host.invalid", "insecure=true"),
                "tcp.address 'no-such-host.invalid' does not resolve; give an IP address");
        refused(
                refusal("coordinator.url=ftp://x"),
                "coordinator URL 'ftp://x' must be http://host:port or https://host:port, for example"
                        + " http://127.0.0.1:7400");
        refused(
                refusal("api.listen=192.0.2.1:0", "insecure=true"),
                "cannot listen on 192.0.2.1:0: this machine has no such address; give one of its own or 0.0.0.0");
    }

    /** Why an agent of this JVM is refused. */
    private List<String> refusal(String... settings) {
        Map<String, String> flags = new LinkedHashMap<>(Map.of(
                "api.listen", "127.0.0.1:0",
                "api.socket", directory.resolve("socket").toString(),
                "pool.staging", "4MiB"));
        for (String setting : settings) {
            int equals = setting.indexOf('=');
            flags.put(setting.substring(0, equals), setting.substring(equals + 1));
        }
        return RefusedAgent.open(Optional.empty(), Map.of(), flags);
    }

    private static ChildJvm agentProcess(Map<String, String> environment, String... arguments) {
        List<String> all =
                new ArrayList<>(List.of("run", "--set", "api.listen=127.0.0.1:0", "--set", "pool.staging=4MiB"));
        all.addAll(List.of(arguments));
        return ChildJvm.start("refused-agent", io.farpage.agent.Main.class, all, environment);
    }

    /** What a coordinator of this JVM prints that is refused. */
    private static List<String> coordinator(String... arguments) {
        Command run = Command.coordinator(
                Stream.concat(Stream.of("run"), Stream.of(arguments)).toList());
        assertEquals(1, run.code(), run.err());
        return run.err().lines().toList();
    }

    private static ChildJvm coordinatorProcess(String... arguments) {
        return ChildJvm.start(
                "refused-coordinator",
                Main.class,
                Stream.concat(Stream.of("run"), Stream.of(arguments)).toList());
    }

    private static void refused(List<String> lines, String... messages) {
        assertEquals(List.of(messages), lines);
    }

    /**
     * Waits for a program that cannot start. Returns its messages; anything else that is not a line of its log is a
     * failure.
     */
    private static List<String> lines(ChildJvm child) {
        try (child) {
            assertNotEquals(0, child.awaitEnd(), child.err());
            String err = child.err();
            List<String> messages = err.lines()
                    .filter(line -> line.startsWith("page-agent: ") || line.startsWith("coordinator: "))
                    .toList();
            List<String> others = err.lines()
                    .filter(line ->
                            !messages.contains(line) && !line.matches("\\d{4}-\\d\\d-\\d\\dT.* (INFO |WARN ) .*"))
                    .toList();
            assertEquals(List.of(), others, err);
            return messages;
        }
    }

    private static long physicalMemory() {
        return java.lang.management.ManagementFactory.getPlatformMXBean(com.sun.management.OperatingSystemMXBean.class)
                .getTotalMemorySize();
    }

    @Test
    @Tag("processes")
    void shouldLeaveNothingBehindInTheClusterWhenAStartIsRefused(Cluster cluster) throws Exception {
        String taken = cluster.agent("a").rest().base().getAuthority();
        refused(
                lines(agentProcess(
                        Map.of(),
                        "--set",
                        "node.id=never",
                        "--set",
                        "coordinator.url=" + cluster.coordinator().rest().base(),
                        "--set",
                        "api.listen=" + taken)),
                "page-agent: cannot listen on " + taken
                        + ": the port is taken; stop what listens there or choose another port");
        await("the coordinator does not have the node", Deadlines.LONG)
                .until(() -> cluster.client().node("never").isEmpty());
        assertTrue(cluster.client().node("never").isEmpty());
    }
}
