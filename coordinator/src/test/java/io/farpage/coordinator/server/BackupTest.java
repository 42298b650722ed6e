package io.farpage.coordinator.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.backup.BackupFile;
import io.farpage.coordinator.backup.Rows;
import io.farpage.coordinator.client.Allegiance;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.client.CoordinatorNotObeyedException;
import io.farpage.coordinator.cluster.FakeTime;
import io.farpage.coordinator.cluster.Fixture;
import io.farpage.coordinator.command.Commands;
import io.farpage.coordinator.model.ClusterRequest;
import io.farpage.coordinator.model.ExpectedNode;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.coordinator.model.StoreCopy;
import io.farpage.coordinator.store.MvStore;
import io.farpage.coordinator.store.Table;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.tls.Credentials;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The commands {@code backup} and {@code restore} on embedded stores, with the coordinators before and after. */
@Tag("portable")
class BackupTest {

    private static final long POOL = 64 << 20;

    private final Path directory;
    private final Path file;
    private final Allegiance agent = new Allegiance();

    BackupTest(@TempDir Path directory) {
        this.directory = directory;
        this.file = directory.resolve("cluster.backup");
    }

    private Running start(String store) {
        return new Running(directory.resolve(store), new FakeTime(), Map.of());
    }

    private CoordinatorClient agent(Running running) {
        return new CoordinatorClient(running.coordinator.url(), Duration.ofSeconds(30), agent, Credentials.NONE);
    }

    private Commands.Outcome offline(String command, String store, String... more) {
        List<String> arguments =
                new ArrayList<>(List.of(command, file.toString(), "-D", "store.directory=" + directory.resolve(store)));
        arguments.addAll(List.of(more));
        return Commands.run(arguments.toArray(String[]::new));
    }

    private Commands.Outcome backup(String store) {
        return offline("backup", store, "--offline");
    }

    private static Commands.Outcome done(Commands.Outcome outcome) {
        assertEquals(0, outcome.code(), outcome.err());
        return outcome;
    }

    private static String refused(Commands.Outcome outcome) {
        assertEquals(1, outcome.code(), outcome.out());
        assertEquals(1, outcome.err().lines().count(), outcome.err());
        return outcome.err();
    }

    /** A cluster of two nodes and some spaces, whose agent has seen all of it. */
    private void populate(String store, int spaces) throws CoordinatorException {
        try (Running running = start(store);
                CoordinatorClient client = agent(running)) {
            client.register("a", Fixture.node(1, POOL));
            client.register("b", Fixture.node(2, POOL));
            client.formCluster(new ClusterRequest("lab", List.of(expected("a"), expected("b"))));
            agent.join();
            for (int i = 0; i < spaces; i++) {
                client.createSpace(SpaceRequest.of("s" + i, 4096));
            }
        }
    }

    private static ExpectedNode expected(String id) {
        return new ExpectedNode(id, Optional.empty(), Optional.empty());
    }

    private StoreCopy rows(String store) {
        try (MvStore opened = MvStore.open(directory.resolve(store))) {
            return Rows.of(opened);
        }
    }

    @Test
    void shouldRestoreAllRowsAndTheHistoryThatAgentsHaveSeen() throws Exception {
        populate("old", 20);
        assertTrue(done(backup("old")).out().contains(" are in " + file));
        StoreCopy before = rows("old");
        assertEquals(before, BackupFile.read(file));
        assertEquals(
                20,
                Optional.ofNullable(before.tables().get("spaces")).orElseThrow().size());

        assertTrue(done(offline("restore", "new")).out().contains("are restored; start the coordinator"));
        StoreCopy after = rows("new");
        assertEquals(before.revision(), after.revision());
        assertEquals(StoreCopies.withoutBase(before), StoreCopies.withoutBase(after));

        try (Running running = start("new");
                CoordinatorClient client = agent(running)) {
            assertEquals(20, client.spaces().size());
            client.createSpace(SpaceRequest.of("more", 4096));
            assertEquals(Optional.empty(), agent.status().refusal());
        }
    }

    @Test
    void shouldKeepBackupAndRestoredStoreFromOtherUsers() throws Exception {
        populate("old", 1);
        done(backup("old"));
        done(offline("restore", "new"));
        assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(file)));
        assertEquals(
                "rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(directory.resolve("new"))));
        try (Stream<Path> files = Files.list(directory.resolve("new"))) {
            for (Path made : files.toList()) {
                assertEquals(
                        "rw-------",
                        PosixFilePermissions.toString(Files.getPosixFilePermissions(made)),
                        made.toString());
            }
        }
    }

    @Test
    void shouldWriteToStandardOutputWhatAFileWouldHave() throws Exception {
        populate("old", 3);
        done(backup("old"));
        Commands.Outcome printed =
                done(Commands.run("backup", "-", "--offline", "-D", "store.directory=" + directory.resolve("old")));
        assertEquals(Files.readString(file), printed.out());
    }

    @Test
    void shouldHoldOneMomentWhenChangesAreMadeMeanwhile() throws Exception {
        try (Running running = start("old")) {
            running.client.register("a", Fixture.node(1, POOL));
            AtomicInteger sent = new AtomicInteger();
            AtomicInteger acknowledged = new AtomicInteger();
            AtomicBoolean enough = new AtomicBoolean();
            Thread changes = Thread.ofPlatform().start(() -> {
                try (CoordinatorClient client =
                        new CoordinatorClient(running.coordinator.url(), Duration.ofSeconds(30))) {
                    while (!enough.get()) {
                        client.createSpace(SpaceRequest.of("s" + sent.getAndIncrement(), 4096));
                        acknowledged.incrementAndGet();
                    }
                } catch (CoordinatorException e) {
                    throw new IllegalStateException(e);
                }
            });
            Deadlines.await("the first change", Deadlines.LONG).until(() -> acknowledged.get() > 0);
            for (int round = 0; round < 10; round++) {
                Path each = directory.resolve("round-" + round);
                int atLeast = acknowledged.get();
                done(Commands.run(
                        "backup",
                        each.toString(),
                        "--coordinator",
                        running.coordinator.url().toString()));
                int atMost = sent.get();
                checkOneMoment(BackupFile.read(each), atLeast, atMost);
                Deadlines.await("changes go on", Deadlines.LONG).until(() -> acknowledged.get() > atMost);
            }
            enough.set(true);
            changes.join();
            assertEquals(sent.get(), acknowledged.get(), "each change was made");
        }
    }

    /**
     * A space has a row, each of its extents another, and the id after it is a counter: a copy of two moments would
     * have one without the others.
     */
    private static void checkOneMoment(StoreCopy copy, int atLeast, int atMost) {
        SortedMap<String, String> spaces =
                Optional.ofNullable(copy.tables().get("spaces")).orElseThrow();
        assertTrue(
                spaces.size() >= atLeast && spaces.size() <= atMost,
                spaces.size() + " of " + atLeast + " to " + atMost);
        assertEquals(
                spaces.keySet(),
                Optional.ofNullable(copy.tables().get("extents")).orElseThrow().keySet().stream()
                        .map(key -> key.substring(0, key.indexOf('/')))
                        .collect(Collectors.toSet()));
        long next = Long.parseLong(
                Optional.ofNullable(Optional.ofNullable(copy.tables().get("counters"))
                                .orElseThrow()
                                .get("next-id"))
                        .orElseThrow());
        assertEquals(
                next - 1,
                spaces.keySet().stream().mapToLong(Long::parseLong).max().orElse(next - 1));
    }

    @Test
    void shouldNotBeObeyedWhenTheBackupLacksWhatAnAgentHasSeen() throws Exception {
        populate("old", 2);
        done(backup("old"));
        try (Running running = start("old");
                CoordinatorClient client = agent(running)) {
            client.createSpace(SpaceRequest.of("later", 4096));
        }
        done(offline("restore", "new"));
        try (Running running = start("new");
                CoordinatorClient client = agent(running)) {
            String message = String.valueOf(assertThrows(CoordinatorNotObeyedException.class, client::spaces)
                    .getMessage());
            assertFalse(message.isEmpty());
            assertTrue(running.send("GET", "/health", "").body().contains("the store is an older copy"));
        }
    }

    @Test
    void shouldRefuseAStoreThatHoldsRowsUntilItIsForced() throws Exception {
        populate("old", 3);
        done(backup("old"));
        try (Running other = start("other")) {
            other.client.register("z", Fixture.node(9, POOL));
        }
        StoreCopy untouched = rows("other");
        String message = refused(offline("restore", "other"));
        assertTrue(
                message.contains("the store in " + directory.resolve("other") + " is not empty")
                        && message.contains("or replace them with --force"),
                message);
        assertEquals(untouched, rows("other"));

        done(offline("restore", "other", "--force"));
        assertEquals(StoreCopies.withoutBase(rows("old")), StoreCopies.withoutBase(rows("other")));
        assertEquals(rows("old").revision(), rows("other").revision());
    }

    @Test
    void shouldMakeNoStoreWhenTheFileIsDamaged() throws Exception {
        populate("old", 1);
        done(backup("old"));
        String text = Files.readString(file);
        Files.writeString(file, text.substring(0, text.length() - 10));
        String message = refused(offline("restore", "new"));
        assertTrue(message.startsWith("coordinator: backup " + file + " is damaged: "), message);
        assertFalse(Files.exists(directory.resolve("new")));
    }

    @Test
    void shouldNotOverwriteABackup() throws IOException, CoordinatorException {
        populate("old", 1);
        Files.writeString(file, "precious");
        String message = refused(backup("old"));
        assertTrue(message.contains(file + " exists and is not overwritten; move it away first"), message);
        assertEquals("precious", Files.readString(file));
    }

    @Test
    void shouldRefuseAStoreOnWhichACoordinatorRuns() throws Exception {
        populate("old", 1);
        done(backup("old"));
        StoreCopy copy = BackupFile.read(file);
        try (Running running = start("old")) {
            String restored = refused(offline("restore", "old", "--force"));
            assertTrue(restored.contains("in use by another process"), restored);
            Path second = directory.resolve("second");
            String read = refused(Commands.run(
                    "backup", second.toString(), "--offline", "-D", "store.directory=" + directory.resolve("old")));
            assertTrue(read.contains("in use by another process"), read);
            assertFalse(Files.exists(second));
            assertEquals(
                    List.of("s0"),
                    running.client.spaces().stream().map(Space::name).toList());
        }
        assertEquals(Table.values().length, copy.tables().size());
    }
}
