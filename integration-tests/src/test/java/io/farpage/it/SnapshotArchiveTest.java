package io.farpage.it;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.Space;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.it.harness.Cluster;
import io.farpage.it.harness.Command;
import io.farpage.it.harness.Pages;
import io.farpage.it.harness.TwoNodes;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** A machine goes into a file and comes out of it: its memory and the state of its VMM, by the commands. */
@Tag("portable")
@ExtendWith(TwoNodes.class)
class SnapshotArchiveTest {
    private static final int PAGES = 700;
    private static final byte[] STATE = Pages.of(3, 1, 10_000);

    @TempDir
    private Path directory = Path.of("");

    private Path archive = Path.of("");

    @BeforeEach
    void makeSnapshot(Cluster cluster) throws Exception {
        cluster.makeSpace("machine", PAGES, 4096, "b");
        byte[] memory = new byte[PAGES * 4096];
        for (int page = 0; page < PAGES; page += 7) {
            System.arraycopy(Pages.of(1, page, 4096), 0, memory, page * 4096, 4096);
        }
        Path file = Files.write(directory.resolve("memory"), memory);
        Command.agent("load", "--agent=" + cluster.agent("a").rest().base(), "--space=machine", "--file=" + file)
                .done();
        cluster.client().makeSnapshot("machine");
        archive = directory.resolve("machine.zip");
    }

    @AfterEach
    void deleteSnapshots(Cluster cluster) throws Exception {
        for (String name : List.of("machine", "other")) {
            if (cluster.client().space(name).isPresent()) {
                cluster.client().deleteSpace(name);
            }
        }
        await("states are deleted with their snapshots", Deadlines.SHORT)
                .until(() -> cluster.client().spaces().isEmpty());
    }

    private static Command run(Cluster cluster, String command, String snapshot, Path file, String... more) {
        return Command.agent(Stream.concat(
                        Stream.of(
                                "snapshot",
                                command,
                                "--agent=" + cluster.agent("a").rest().base(),
                                "--space=" + snapshot,
                                "--file=" + file),
                        Stream.of(more))
                .toList());
    }

    private static List<String> names(Cluster cluster) throws CoordinatorException {
        return cluster.client().spaces().stream()
                .filter(space -> !space.deleting())
                .map(Space::name)
                .sorted()
                .toList();
    }

    @Test
    void shouldBringAMachineFromOneClusterToAnother(Cluster cluster) throws Exception {
        run(cluster, "state", "machine", Files.write(directory.resolve("state"), STATE))
                .done();
        run(cluster, "save", "machine", archive).done();
        cluster.client().deleteSpace("machine");
        run(cluster, "load", "other", archive, "--home=b", "--nodes=a").done();
        Space other = cluster.client().space("other").orElseThrow();
        assertTrue(other.snapshot().isPresent());
        assertEquals(List.of("a"), other.nodes().orElseThrow());
        for (int page = 0; page < PAGES; page++) {
            byte[] expected = page % 7 == 0 ? Pages.of(1, page, 4096) : new byte[4096];
            assertArrayEquals(
                    expected, cluster.agent("a").page("other", page).expect(200).body());
        }
        Path state = directory.resolve("state-again");
        Command.agent("save", "--agent=" + cluster.agent("a").rest().base(), "--space=other.state", "--file=" + state)
                .done();
        assertArrayEquals(STATE, Files.readAllBytes(state));
    }

    @Test
    void shouldMakeNoSnapshotOfADamagedArchive(Cluster cluster) throws Exception {
        run(cluster, "save", "machine", archive).done();
        byte[] bytes = Files.readAllBytes(archive);
        bytes[bytes.length / 2] ^= 1;
        Command damaged = run(cluster, "load", "other", Files.write(archive, bytes));
        assertEquals(1, damaged.code());
        assertTrue(damaged.err().contains("memory/0000000000"), damaged.err());
        assertEquals(List.of("machine"), names(cluster));
    }

    @Test
    void shouldSayWhatIsNotKeptOrLoaded(Cluster cluster) throws Exception {
        Path text = Files.writeString(directory.resolve("text"), "no archive");
        refused(run(cluster, "load", "other", text), "it does not begin with snapshot.json");
        refused(run(cluster, "load", "machine", saved(cluster)), "'machine' exists");
        refused(run(cluster, "load", "other", archive, "--replicas=4"), "replicas: 4 is not in 1..3");
        refused(run(cluster, "load", "other", archive, "--home=nowhere"), "node 'nowhere' is not registered");
        refused(run(cluster, "state", "machine", Files.createFile(directory.resolve("empty"))), "a state of 0 bytes");
        Path absent = directory.resolve("absent.zip");
        refused(run(cluster, "save", "nothing", absent), "there is no space 'nothing'");
        assertFalse(Files.exists(absent));
        assertEquals(List.of("machine"), names(cluster));
    }

    private Path saved(Cluster cluster) {
        run(cluster, "save", "machine", archive).done();
        return archive;
    }

    private static void refused(Command command, String said) {
        assertEquals(1, command.code());
        assertTrue(command.err().contains(said), command.err());
    }
}
