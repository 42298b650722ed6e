package io.farpage.coordinator.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A store on files whose writes and syncs fail. */
class FailedWriteTest {

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

    private MvStore open(int compactEvery) {
        return MvStore.open(directory, FaultyFiles.SCHEME, compactEvery);
    }

    private static void put(Store store, int number) {
        store.commit(List.of(new Change(Table.NODES, "n" + number, Optional.of(Integer.toString(number)))));
    }

    @Test
    void shouldSyncEveryCommit() {
        try (MvStore store = open(1_000)) {
            for (int i = 0; i < 5; i++) {
                int before = FaultyFiles.SYNCS.get();
                put(store, i);
                assertTrue(FaultyFiles.SYNCS.get() > before, "commit " + i);
            }
        }
    }

    @Test
    void shouldTakeNoHalfCommitAndGoOnWhenWritesSucceedAgain() {
        try (MvStore store = open(1_000)) {
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
        try (MvStore store = open(1_000)) {
            assertEquals("3", store.rows(Table.NODES).get("n3"));
        }
    }

    /** The commit is in the file although its sync reported an error: memory must not go on without it. */
    @Test
    void shouldTellThatACommitTookEffectWhoseSyncFailed() {
        try (MvStore store = open(1_000)) {
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
        try (MvStore store = open(1_000)) {
            assertEquals(Map.of("n1", "1", "n2", "2"), store.rows(Table.NODES));
        }
    }

    @Test
    void shouldAcknowledgeACommitWhoseCompactionFails() {
        try (MvStore store = open(50)) {
            for (int i = 0; i < 49; i++) {
                put(store, i % 3);
            }
            long before = store.revision();
            // The commit itself needs a few writes; each of the later ones that compaction makes fails in turn.
            for (int writes = 1; writes < 12; writes++) {
                for (int i = (int) (store.revision() - before); i % 50 != 0; i++) {
                    put(store, i % 3);
                }
                long last = store.revision();
                FaultyFiles.WRITES_LEFT.set(writes);
                boolean failed = false;
                try {
                    put(store, 1_000 + writes);
                } catch (StoreException e) {
                    failed = true;
                }
                FaultyFiles.heal();
                store.recover();
                assertEquals(!failed, store.rows(Table.NODES).containsKey("n" + (1_000 + writes)), "after " + writes);
                assertEquals(failed ? last : last + 1, store.revision());
            }
        }
        try (MvStore store = open(50)) {
            assertTrue(store.rows(Table.NODES).containsKey("n1011"));
        }
    }

    @Test
    void shouldRefuseChangesWhileTheFileCannotBeOpenedAgain() {
        try (MvStore store = open(1_000)) {
            FaultyFiles.WRITES_LEFT.set(0);
            assertThrows(StoreException.class, () -> put(store, 1));
            assertThrows(StoreException.class, () -> put(store, 1));
        }
    }
}
