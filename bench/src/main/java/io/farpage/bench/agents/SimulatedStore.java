package io.farpage.bench.agents;

import io.farpage.coordinator.store.Change;
import io.farpage.coordinator.store.Store;
import io.farpage.coordinator.store.Table;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The store of a simulated coordinator, in memory: a commit costs no disk. It outlives the coordinator. */
final class SimulatedStore implements Store {
    private final Map<Table, Map<String, String>> tables = new EnumMap<>(Table.class);
    private long revision;

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
