package io.farpage.coordinator.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/**
 * What every {@link Store} must do. A subclass says which one is tested. The revision counts from where a new store
 * begins, since a store may commit its own format first.
 */
public abstract class StoreContract {

    /** As many extents as a large cluster has. */
    private static final int MANY = 20_000;

    /** Opens a store without rows, a different one in each test. */
    protected abstract Store open();

    /** Closes a store and opens it again. */
    protected abstract Store reopen(Store store);

    protected static Change put(Table table, String key, String row) {
        return new Change(table, key, Optional.of(row));
    }

    protected static Change delete(Table table, String key) {
        return new Change(table, key, Optional.empty());
    }

    @Test
    void shouldBeEmptyWhenNew() {
        try (Store store = open()) {
            for (Table table : Table.values()) {
                assertEquals(Map.of(), store.rows(table), table.name());
            }
        }
    }

    @Test
    void shouldKeepRowsOfTablesApartWhenTheirKeysAreEqual() {
        try (Store store = open()) {
            store.commit(List.of(put(Table.NODES, "a", "1"), put(Table.SPACES, "a", "2")));
            store.commit(List.of(delete(Table.NODES, "a"), put(Table.NODES, "b", "3")));
            assertEquals(Map.of("b", "3"), store.rows(Table.NODES));
            assertEquals(Map.of("a", "2"), store.rows(Table.SPACES));
            assertEquals(Map.of(), store.rows(Table.EXTENTS));
        }
    }

    @Test
    void shouldKeepKeysAndRowsAsTheyAreWhateverTheirCharacters() {
        Map<String, String> rows = new TreeMap<>();
        for (String key :
                List.of("a/b", "a", "a/", "/", "a//b", "%2F", "nodes", "knoten-ü", "\u6f22/\ud83d\ude00", " ")) {
            rows.put(key, "{\"key\":\"" + key + "\"}");
        }
        rows.put("empty", "");
        try (Store store = open()) {
            store.commit(rows.entrySet().stream()
                    .map(row -> put(Table.FENCES, row.getKey(), row.getValue()))
                    .toList());
            assertEquals(rows, store.rows(Table.FENCES));
            assertEquals(
                    List.copyOf(rows.keySet()),
                    List.copyOf(store.rows(Table.FENCES).keySet()));
        }
    }

    @Test
    void shouldCountEveryCommitAlsoOneWithoutChanges() {
        try (Store store = open()) {
            long start = store.revision();
            store.commit(List.of(put(Table.NODES, "a", "1")));
            assertEquals(start + 1, store.revision());
            store.commit(List.of());
            assertEquals(start + 2, store.revision());
            store.commit(List.of(delete(Table.NODES, "missing")));
            assertEquals(start + 3, store.revision());
            assertEquals(Map.of("a", "1"), store.rows(Table.NODES));
        }
    }

    @Test
    void shouldTakeTheLastOfSeveralChangesOfARow() {
        try (Store store = open()) {
            long start = store.revision();
            store.commit(List.of(put(Table.NODES, "a", "1"), put(Table.NODES, "a", "2")));
            assertEquals(Map.of("a", "2"), store.rows(Table.NODES));
            store.commit(List.of(delete(Table.NODES, "a"), put(Table.NODES, "a", "3")));
            assertEquals(Map.of("a", "3"), store.rows(Table.NODES));
            store.commit(List.of(put(Table.NODES, "a", "4"), delete(Table.NODES, "a")));
            assertEquals(Map.of(), store.rows(Table.NODES));
            assertEquals(start + 3, store.revision());
        }
    }

    @Test
    void shouldNotChangeRowsThatWereReadBefore() {
        try (Store store = open()) {
            store.commit(List.of(put(Table.NODES, "a", "1")));
            Map<String, String> before = store.rows(Table.NODES);
            store.commit(List.of(put(Table.NODES, "a", "2"), put(Table.NODES, "b", "2")));
            assertEquals(Map.of("a", "1"), before);
        }
    }

    @Test
    void shouldKeepRowsAndRevisionWhenOpenedAgain() {
        Store store = open();
        long start = store.revision();
        store.commit(List.of(put(Table.NODES, "a", "1"), put(Table.SPACES, "s", "2")));
        store.commit(List.of(delete(Table.NODES, "a")));
        Store again = reopen(store);
        try (again) {
            assertEquals(start + 2, again.revision());
            assertEquals(Map.of(), again.rows(Table.NODES));
            assertEquals(Map.of("s", "2"), again.rows(Table.SPACES));
            again.commit(List.of(put(Table.NODES, "b", "3")));
            assertEquals(start + 3, again.revision());
        }
    }

    @Test
    void shouldMakeManyChangesInOneCommit() {
        List<Change> changes = new ArrayList<>();
        String row = "{\"firstPage\":0,\"count\":1024,\"homes\":[{\"node\":\"a\",\"offset\":0}],\"state\":\"ok\"}";
        IntStream.range(0, MANY).forEach(i -> changes.add(put(Table.FENCES, "node-" + i + "/peer", row)));
        Store store = open();
        long start = store.revision();
        store.commit(changes);
        assertEquals(start + 1, store.revision());
        assertEquals(MANY, store.rows(Table.FENCES).size());
        store.commit(changes.stream()
                .skip(1)
                .map(change -> delete(change.table(), change.key()))
                .toList());
        Store again = reopen(store);
        try (again) {
            assertEquals(start + 2, again.revision());
            assertEquals(Map.of("node-0/peer", row), again.rows(Table.FENCES));
        }
    }

    @Test
    void shouldReadTablesThatAreLargerThanAnyMessage() {
        String row = "x".repeat(200_000);
        Store store = open();
        for (int i = 0; i < 40; i++) {
            store.commit(List.of(put(Table.EXTENTS, Integer.toString(i), row)));
        }
        Store again = reopen(store);
        try (again) {
            Map<String, String> rows = again.rows(Table.EXTENTS);
            assertEquals(40, rows.size());
            assertTrue(rows.values().stream().allMatch(row::equals));
        }
    }

    @Test
    void shouldChangeNothingByRecoveringWhenNoCommitFailed() {
        try (Store store = open()) {
            long start = store.revision();
            store.commit(List.of(put(Table.NODES, "a", "1")));
            store.recover();
            assertEquals(start + 1, store.revision());
            assertEquals(Map.of("a", "1"), store.rows(Table.NODES));
            store.commit(List.of(put(Table.NODES, "b", "2")));
            assertEquals(start + 2, store.revision());
            assertEquals(Map.of("a", "1", "b", "2"), store.rows(Table.NODES));
        }
    }
}
