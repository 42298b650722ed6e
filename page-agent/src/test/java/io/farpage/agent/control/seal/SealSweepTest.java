package io.farpage.agent.control.seal;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.control.TestCoordinator;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.client.CoordinatorNotObeyedException;
import io.farpage.coordinator.client.CoordinatorUnreachableException;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.tls.Credentials;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Files with tags, and a real coordinator that has deleted their spaces or has not. */
@Tag("portable")
class SealSweepTest {
    private static final int ATTEMPTS = 3;

    private final Path directory;
    private final Path seals;
    private TestCoordinator coordinator;
    private CoordinatorClient client;

    SealSweepTest(@TempDir Path directory) {
        this.directory = directory;
        seals = directory.resolve("deep/seal");
        coordinator = new TestCoordinator(directory.resolve("store"));
        client = coordinator.client();
    }

    @BeforeEach
    void register() throws CoordinatorException {
        coordinator.register("a", new Incarnation(7), 1 << 20);
    }

    @AfterEach
    void end() {
        coordinator.close();
    }

    private Path file(long space) {
        return seals.resolve("space-" + space + ".seal");
    }

    private void write(Path file) throws IOException {
        Files.createDirectories(seals);
        Files.writeString(file, "tags");
    }

    private long create(String name) throws CoordinatorException {
        return client.createSpace(SpaceRequest.of(name, 8192)).id();
    }

    private SealSweep start() {
        SealSweep sweep = new SealSweep(seals, client);
        sweep.start();
        return sweep;
    }

    private void awaitCluster() {
        Deadlines.await("the name of the cluster", Deadlines.SHORT)
                .until(() -> Files.exists(seals.resolve(SealSweep.CLUSTER)));
    }

    private static void awaitGone(Path file) {
        Deadlines.await(file + " is gone", Deadlines.SHORT).until(() -> !Files.exists(file));
    }

    /** Several sweeps, which the test runs itself, leave the file in place. */
    private static void assertStays(SealSweep sweep, Path file) {
        for (int i = 0; i < ATTEMPTS; i++) {
            assertDoesNotThrow(sweep::sweep);
            assertTrue(Files.exists(file), file.toString());
        }
    }

    @Test
    void shouldRemoveTheFilesOfASpaceWhenItIsDeletedAndNoOthers() throws Exception {
        long deleted = create("deleted");
        long kept = create("kept");
        client.allegiance().join();
        try (SealSweep sweep = start()) {
            awaitCluster();
            Path aside = seals.resolve("space-" + deleted + ".seal.attached");
            Path foreign = seals.resolve("space-" + deleted + ".seal.copy");
            for (Path file : new Path[] {file(deleted), aside, foreign, file(kept)}) {
                write(file);
            }
            sweep.refresh();
            assertStays(sweep, file(deleted));
            client.deleteSpace("deleted");
            sweep.refresh();
            awaitGone(file(deleted));
            awaitGone(aside);
            assertTrue(Files.exists(foreign));
            assertStays(sweep, file(kept));
        }
    }

    @Test
    void shouldRemoveAtStartTheFilesOfSpacesThatWereDeletedMeanwhile() throws Exception {
        long space = create("deleted");
        client.allegiance().join();
        start().close();
        try (SealSweep first = start()) {
            awaitCluster();
            first.refresh();
        }
        write(file(space));
        client.deleteSpace("deleted");
        try (SealSweep second = start()) {
            awaitGone(file(space));
            second.refresh();
        }
    }

    @Test
    void shouldKeepAFileWhoseSpaceTheCoordinatorHasNeverHad() throws Exception {
        client.allegiance().join();
        try (SealSweep sweep = start()) {
            awaitCluster();
            write(file(4_711));
            sweep.refresh();
            assertStays(sweep, file(4_711));
        }
    }

    @Test
    void shouldKeepFilesUntilTheAgentHasJoined() throws Exception {
        long space = create("deleted");
        client.deleteSpace("deleted");
        Files.createDirectories(seals);
        Files.writeString(
                seals.resolve(SealSweep.CLUSTER),
                client.allegiance().cluster().orElseThrow().text());
        write(file(space));
        try (SealSweep sweep = start()) {
            sweep.refresh();
            assertStays(sweep, file(space));
            client.allegiance().join();
            awaitGone(file(space));
        }
    }

    @Test
    void shouldKeepFilesOfAnotherClusterAndOfNone() throws Exception {
        long space = create("deleted");
        client.deleteSpace("deleted");
        client.allegiance().join();
        write(file(space));
        try (SealSweep sweep = start()) {
            sweep.refresh();
            assertStays(sweep, file(space));
            assertFalse(Files.exists(seals.resolve(SealSweep.CLUSTER)));
            Files.writeString(seals.resolve(SealSweep.CLUSTER), "0123456789abcdef0123456789abcdef");
            sweep.refresh();
            assertStays(sweep, file(space));
        }
    }

    /** The coordinator comes back on an empty store: it is not obeyed, whatever it says of spaces. */
    @Test
    void shouldKeepFilesWhenTheCoordinatorIsNotObeyedOrAway() throws Exception {
        long space = create("deleted");
        client.allegiance().join();
        try (SealSweep sweep = start()) {
            awaitCluster();
            write(file(space));
            coordinator.close();
            for (int i = 0; i < ATTEMPTS; i++) {
                assertThrows(CoordinatorUnreachableException.class, sweep::sweep);
                assertTrue(Files.exists(file(space)));
            }
        }
        try (TestCoordinator other = new TestCoordinator(directory.resolve("other"));
                CoordinatorClient joined = new CoordinatorClient(
                        other.url(), Duration.ofSeconds(10), client.allegiance(), Credentials.NONE);
                SealSweep sweep = new SealSweep(seals, joined)) {
            other.register("a", new Incarnation(7), 1 << 20);
            assertEquals(
                    space,
                    other.client().createSpace(SpaceRequest.of("same-id", 8192)).id());
            other.client().deleteSpace("same-id");
            for (int i = 0; i < ATTEMPTS; i++) {
                assertThrows(CoordinatorNotObeyedException.class, sweep::sweep);
                assertTrue(Files.exists(file(space)));
            }
        }
    }
}
