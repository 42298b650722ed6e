package io.farpage.coordinator.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.AbstractList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A store on files whose reads, writes and syncs fail. */
class FailedWriteTest {

    private static final int ROWS = 2_000;
    private static final Compaction AFTER_EACH_COMMIT = new Compaction(1, 50, 4 << 20, 0);

    private final Path directory;

    FailedWriteTest(@TempDir Path directory) {
        this.directory = directory;
    }

    @BeforeEach
    void install() {
        FaultyFiles.install();
    }

    @AfterEach
    void heal() {
        FaultyFiles.heal();
    }

    private MvStore open() {
        return MvStore.open(directory, FaultyFiles.SCHEME, Compaction.STANDARD);
    }

    private static void put(Store store, int number) {
        store.commit(List.of(new Change(Table.NODES, "n" + number, Optional.of(Integer.toString(number)))));
    }

    @Test
    void shouldSyncEveryCommit() {
        try (MvStore store = open()) {
            for (int i = 0; i < 5; i++) {
                int before = FaultyFiles.SYNCS.get();
                put(store, i);
                assertTrue(FaultyFiles.SYNCS.get() > before, "commit " + i);
            }
        }
    }

    @Test
    void shouldTakeNoHalfCommitAndGoOnWhenWritesSucceedAgain() {
        try (MvStore store = open()) {
            put(store, 1);
            long before = store.revision();
            for (int writes = 0; writes < 3; writes++) {
                FaultyFiles.WRITES_LEFT.set(writes);
                boolean failed = false;
                try {
                    put(store, 2);
                } catch (StoreException e) {
                    failed = true;
                }
                FaultyFiles.heal();
                store.recover();
                assertEquals(failed ? before : before + 1, store.revision());
                assertEquals(failed ? 1 : 2, store.rows(Table.NODES).size());
                before = store.revision();
            }
            put(store, 3);
            assertEquals(before + 1, store.revision());
        }
        try (MvStore store = open()) {
            assertEquals("3", store.rows(Table.NODES).get("n3"));
        }
    }

    /** A row that was put and not committed would be durable with the next commit, without its digest. */
    @Test
    void shouldForgetTheRowsOfACommitThatEndsByAnError() {
        List<Change> broken = new AbstractList<>() {
            @Override
            public Change get(int index) {
                if (index == 1) {
                    throw new LinkageError("a class is missing");
                }
                return new Change(Table.NODES, "n2", Optional.of("2"));
            }

            @Override
            public int size() {
                return 2;
            }
        };
        try (MvStore store = open()) {
            put(store, 1);
            assertThrows(StoreException.class, () -> store.commit(broken));
            store.recover();
            put(store, 3);
            assertEquals(Map.of("n1", "1", "n3", "3"), store.rows(Table.NODES));
        }
        try (MvStore again = open()) {
            assertEquals(Map.of("n1", "1", "n3", "3"), again.rows(Table.NODES));
        }
    }

    /** The commit is in the file although its sync reported an error: memory must not go on without it. */
    @Test
    void shouldTellThatACommitTookEffectWhoseSyncFailed() {
        try (MvStore store = open()) {
            long before = store.revision();
            FaultyFiles.syncFails = true;
            try {
                put(store, 1);
            } catch (StoreException e) {
                FaultyFiles.heal();
                store.recover();
            }
            FaultyFiles.heal();
            assertEquals(
                    store.revision() == before ? Map.of() : Map.of("n1", "1"),
                    store.rows(Table.NODES),
                    "the revision says which rows are there");
            assertEquals(before + 1, store.revision());
            put(store, 2);
        }
        try (MvStore store = open()) {
            assertEquals(Map.of("n1", "1", "n2", "2"), store.rows(Table.NODES));
        }
    }

    /** A compaction reads old chunks and leaves it to the next commit to write what was live in them. */
    @Test
    void shouldAcknowledgeACommitWhoseCompactionFails() throws IOException {
        Path copy = directory.resolve("copy");
        try (MvStore store = open()) {
            fragment(store);
            copy(directory, copy);
        }
        try (MvStore store = MvStore.open(copy, FaultyFiles.SCHEME, AFTER_EACH_COMMIT)) {
            long before = store.revision();
            FaultyFiles.readsFail = true;
            put(store, ROWS);
            assertTrue(FaultyFiles.FAILED_READS.get() > 0, "the compaction read nothing");
            assertEquals(before + 1, store.revision());
            FaultyFiles.heal();
            store.recover();
            put(store, ROWS + 1);
            assertEquals(before + 2, store.revision());
        }
        try (MvStore store = MvStore.open(copy, FaultyFiles.SCHEME, AFTER_EACH_COMMIT)) {
            assertEquals(ROWS + 2, store.rows(Table.NODES).size());
        }
    }

    /** Leaves a few live pages in a chunk that is otherwise dead. */
    private static void fragment(MvStore store) {
        for (int commit = 0; commit < 10; commit++) {
            String row = "%0100d".formatted(commit);
            store.commit(IntStream.range(0, commit == 0 ? ROWS : ROWS * 3 / 4)
                    .mapToObj(number -> new Change(Table.NODES, "n%06d".formatted(number), Optional.of(row)))
                    .toList());
        }
    }

    private static void copy(Path from, Path to) throws IOException {
        Files.createDirectory(to);
        for (String name : List.of(MvStore.FILE, MvStore.SEALS)) {
            Files.copy(from.resolve(name), to.resolve(name));
        }
    }

    @Test
    void shouldRefuseChangesWhileTheFileCannotBeOpenedAgain() {
        try (MvStore store = open()) {
            FaultyFiles.WRITES_LEFT.set(0);
            assertThrows(StoreException.class, () -> put(store, 1));
            assertThrows(StoreException.class, () -> put(store, 1));
        }
    }
}
