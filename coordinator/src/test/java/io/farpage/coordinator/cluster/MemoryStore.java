package io.farpage.coordinator.cluster;

import io.farpage.coordinator.store.Change;
import io.farpage.coordinator.store.Store;
import io.farpage.coordinator.store.StoreException;
import io.farpage.coordinator.store.Table;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** A store in memory, whose commits can be made to fail as a full disk makes them. */
final class MemoryStore implements Store {

    private final Map<Table, Map<String, String>> tables = new EnumMap<>(Table.class);
    private boolean full;
    private long revision;

    void fill(boolean now) {
        full = now;
    }

    @Override
    public Map<String, String> rows(Table table) {
        return new TreeMap<>(tables.getOrDefault(table, Map.of()));
    }

    @Override
    public long revision() {
        return revision;
    }

    @Override
    public void commit(List<Change> changes) {
        if (full) {
            throw new StoreException("the disk is full");
        }
        for (Change change : changes) {
            Map<String, String> rows = tables.computeIfAbsent(change.table(), table -> new TreeMap<>());
            change.row().ifPresentOrElse(row -> rows.put(change.key(), row), () -> rows.remove(change.key()));
        }
        revision++;
    }

    @Override
    public void recover() {}

    @Override
    public void close() {}
}
