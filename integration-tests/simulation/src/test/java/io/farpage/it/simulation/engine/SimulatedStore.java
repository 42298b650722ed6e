package io.farpage.it.simulation.engine;

import io.farpage.coordinator.store.Change;
import io.farpage.coordinator.store.Store;
import io.farpage.coordinator.store.StoreException;
import io.farpage.coordinator.store.Table;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;

/** A coordinator's rows, which outlive its process. A commit takes a while. */
public final class SimulatedStore implements Store {
    private static final Map<Path, Rows> DISKS = new HashMap<>();

    private final Rows rows;

    /** What is on the disk. */
    private static final class Rows {
        private final Map<Table, Map<String, String>> tables = new EnumMap<>(Table.class);
        private long revision;
    }

    private SimulatedStore(Rows rows) {
        this.rows = rows;
    }

    static SimulatedStore open(Path directory) {
        return new SimulatedStore(DISKS.computeIfAbsent(directory, _ -> new Rows()));
    }

    /** All rows of a table, for messages. */
    public static String describe(Table table) {
        StringBuilder text = new StringBuilder();
        DISKS.values()
                .forEach(disk -> disk.tables
                        .getOrDefault(table, Map.of())
                        .forEach((key, row) ->
                                text.append("\n  ").append(key).append(' ').append(row)));
        return text.toString();
    }

    @Override
    public Map<String, String> rows(Table table) {
        return new TreeMap<>(rows.tables.getOrDefault(table, Map.of()));
    }

    @Override
    public long revision() {
        return rows.revision;
    }

    @Override
    public void commit(java.util.List<Change> changes) throws StoreException {
        Engine engine = Engine.get();
        engine.pause(engine.between(20_000, engine.oneIn(50) ? 200_000_000 : 2_000_000));
        for (Change change : changes) {
            Map<String, String> table = rows.tables.computeIfAbsent(change.table(), _ -> new TreeMap<>());
            if (change.row().isPresent()) {
                table.put(change.key(), change.row().get());
            } else {
                table.remove(change.key());
            }
        }
        rows.revision++;
    }

    @Override
    public void recover() {}

    @Override
    public void close() {}
}
