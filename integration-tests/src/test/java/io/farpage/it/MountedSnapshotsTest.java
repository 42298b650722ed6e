package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.AgentProcess;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.MappedSnapshot;
import io.farpage.it.harness.MountProcess;
import io.farpage.it.harness.NeedsFuse;
import io.farpage.it.harness.Pages;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/** Snapshots as files: processes that map them while agents, homes and mount processes come and go. */
@NeedsFuse
@Tag("processes")
class MountedSnapshotsTest {
    private static final int PAGE = 4096;
    private static final int PAGES = 1024;
    private static final int BYTES = PAGES * PAGE;
    private static final int MACHINES = 4;
    private static final Pattern FETCHED =
            Pattern.compile("(?m)^farpage_agent_fetched_bytes_total\\{.*source=\"mount\".*} ([0-9.E]+)$");

    @TempDir
    private Path directory = Path.of("");

    private final List<AutoCloseable> open = new ArrayList<>();
    private Path program = Path.of("");
    private Path image = Path.of("");
    private Cluster cluster = Cluster.start();

    @BeforeEach
    void start() throws Exception {
        program = MappedSnapshot.compile(directory);
        image = directory.resolve("image");
        byte[] bytes = new byte[BYTES];
        // Every fourth page is zeros.
        for (int page = 0; page < PAGES; page++) {
            if (page % 4 != 0) {
                System.arraycopy(Pages.of(7, page, PAGE), 0, bytes, page * PAGE, PAGE);
            }
        }
        Files.write(image, bytes);
    }

    @AfterEach
    void close() throws Exception {
        for (AutoCloseable one : open.reversed()) {
            one.close();
        }
        cluster.close();
    }

    private <T extends AutoCloseable> T add(T opened) {
        open.add(opened);
        return opened;
    }

    private Map<String, String> settings(String node) {
        Map<String, String> settings = new HashMap<>(MountProcess.settings(directory, node));
        settings.put("pool.exported", "16MiB");
        return settings;
    }

    private void makeSnapshot(String name, int replicas, String... homes) throws CoordinatorException, IOException {
        SpaceRequest request = new SpaceRequest(name, BYTES, OptionalInt.of(PAGE), Optional.of(List.of(homes)));
        cluster.client().createSpace(replicas == 1 ? request : request.withReplicas(replicas));
        cluster.agent(homes[0])
                .rest()
                .send(
                        "PUT",
                        "/api/v1/spaces/" + name + "/memory",
                        "application/octet-stream",
                        Files.readAllBytes(image))
                .expect(204);
        cluster.client().makeSnapshot(name);
    }

    private MountProcess mount(String node, String... options) {
        return add(MountProcess.start(directory, node, directory.resolve("mount-" + node), options));
    }

    private MappedSnapshot map(Path file, int seed) {
        return add(MappedSnapshot.map(program, file, image, seed));
    }

    private static JsonNode pass(MappedSnapshot machine) {
        machine.begin();
        return result(machine);
    }

    private static JsonNode result(MappedSnapshot machine) {
        JsonNode result = machine.result();
        assertEquals(PAGES, result.get("pages").asInt());
        assertEquals(0, result.get("differences").asInt(), result.toString());
        return result;
    }

    private double fetchedBytes(String node) {
        String metrics = cluster.agent(node).rest().get("/metrics").expect(200).text();
        Matcher found = FETCHED.matcher(metrics);
        assertTrue(found.find(), metrics);
        return Double.parseDouble(found.group(1));
    }

    @Test
    void shouldFetchEachPageOnceForAllMachinesOfAHost() throws Exception {
        cluster.openAgent("a", settings("a"));
        cluster.openAgent("b", settings("b"));
        cluster.awaitAllLinks();
        makeSnapshot("golden", 1, "b");
        MountProcess onA = mount("a", "--readahead", "0");
        MountProcess onB = mount("b");
        List<MappedSnapshot> machines = new ArrayList<>();
        for (int i = 0; i < MACHINES; i++) {
            machines.add(map(onA.file("golden"), i));
            machines.add(map(onB.file("golden"), 100 + i));
        }
        machines.forEach(MappedSnapshot::begin);
        machines.forEach(MountedSnapshotsTest::result);
        for (MappedSnapshot machine : machines) {
            int written = pass(machine).get("written").asInt();
            assertTrue(written > PAGES / 20, "written pages: " + written);
        }
        assertEquals(BYTES * 3.0 / 4, fetchedBytes("a"), "every page that is not zeros, once");
        assertEquals(0, fetchedBytes("b"), "its pages are in the pool of this node");
        try (Stream<Path> files = Files.list(onA.file(""))) {
            assertEquals(List.of(onA.file("golden")), files.toList());
        }
    }

    @Test
    void shouldGoOnWhenTheAgentIsKilledAndStartedAgain() throws Exception {
        cluster.launchAgent("a", settings("a"));
        cluster.openAgent("b", Map.of());
        cluster.awaitAllLinks();
        makeSnapshot("golden", 1, "b");
        MountProcess mount = mount("a", "--readahead", "0");
        List<MappedSnapshot> machines = new ArrayList<>();
        for (int i = 0; i < MACHINES; i++) {
            machines.add(map(mount.file("golden"), i));
        }
        machines.forEach(MappedSnapshot::begin);
        AgentProcess first = cluster.process("a");
        first.process().kill();
        // Reads that the killed agent had begun, and those that come while there is none.
        MappedSnapshot late = map(mount.file("golden"), 77);
        late.begin();
        cluster.launchAgent("a", settings("a"));
        machines.forEach(MountedSnapshotsTest::result);
        result(late);
        await("the next agent uses the snapshot", Deadlines.LONG)
                .untilAsserted(
                        () -> assertFalse(cluster.client().attachments("golden").isEmpty()));
        machines.forEach(MountedSnapshotsTest::pass);
    }

    @Test
    void shouldReadFromAnotherHomeWhenOneIsKilled() throws Exception {
        cluster.openAgent("a", settings("a"));
        cluster.launchAgent("b", Map.of());
        cluster.openAgent("c", Map.of());
        cluster.awaitAllLinks();
        makeSnapshot("golden", 2, "b", "c");
        MountProcess mount = mount("a", "--readahead", "0");
        MappedSnapshot before = map(mount.file("golden"), 1);
        before.begin();
        cluster.process("b").process().kill();
        result(before);
        pass(map(mount.file("golden"), 2));
    }

    @Test
    void shouldEndProcessesThatReadPagesWhichAreLost() throws Exception {
        cluster.openAgent("a", settings("a"));
        cluster.launchAgent("b", Map.of());
        cluster.awaitAllLinks();
        makeSnapshot("golden", 1, "b");
        MountProcess mount = mount("a", "--readahead", "0");
        MappedSnapshot machine = map(mount.file("golden"), 1);
        AgentProcess home = cluster.process("b");
        home.process().kill();
        machine.begin();
        cluster.launchAgent("b", Map.of());
        assertEquals(128 + 7, machine.awaitEnd(), "SIGBUS");
    }

    @Test
    void shouldKeepADeletedSnapshotAsLongAsItIsMapped() throws Exception {
        cluster.openAgent("a", settings("a"));
        cluster.awaitActive("a", "");
        makeSnapshot("golden", 1, "a");
        MountProcess mount = mount("a", "--readahead", "0");
        MappedSnapshot machine = map(mount.file("golden"), 1);
        pass(map(mount.file("golden"), 2));
        long id = cluster.client().space("golden").orElseThrow().id();
        cluster.client().deleteSpace(id);
        pass(machine);
        await("the name is gone", Deadlines.SHORT).until(() -> !Files.exists(mount.file("golden")));
        assertTrue(cluster.client().space(Long.toString(id)).isPresent(), "it is mapped");

        open.reversed().stream()
                .filter(MappedSnapshot.class::isInstance)
                .map(MappedSnapshot.class::cast)
                .forEach(MappedSnapshot::close);
        await("it is deleted", Deadlines.LONG)
                .until(() -> cluster.client().space(Long.toString(id)).isEmpty());
        makeSnapshot("golden", 1, "a");
        pass(map(mount.file("golden"), 3));
        assertNotEquals(id, cluster.client().space("golden").orElseThrow().id());
    }

    @Test
    void shouldServeWhatIsMappedWhenTheMountProcessHasEnded() throws Exception {
        cluster.openAgent("a", settings("a"));
        cluster.awaitActive("a", "");
        makeSnapshot("golden", 1, "a");
        MountProcess first = MountProcess.start(directory, "a", directory.resolve("mount-a"), "--readahead", "0");
        MappedSnapshot machine = map(first.file("golden"), 1);
        first.process().kill();
        pass(machine);
        MountProcess second = mount("a");
        assertEquals(-1, Files.mismatch(second.file("golden"), image), "it replaces what the first has left");
        pass(map(second.file("golden"), 2));
        pass(machine);
    }
}
