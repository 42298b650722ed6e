package io.farpage.it.simulation.engine;

import io.farpage.coordinator.store.Change;
import io.farpage.coordinator.store.Store;
import io.farpage.coordinator.store.StoreException;
import io.farpage.coordinator.store.Table;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Consumer;

/** A coordinator's rows, which outlive its process. A commit takes a while. */
public final class SimulatedStore implements Store {
    private static final Map<Path, Rows> DISKS = new HashMap<>();
    private static Consumer<List<Replaced>> watch = _ -> {};

    private final Rows rows;

    /** A row that a commit has changed. */
    public record Replaced(Table table, String key, Optional<String> before, Optional<String> after) {}

    /** Has every commit looked at, at the moment at which it takes effect. */
    public static void watch(Consumer<List<Replaced>> task) {
        watch = task;
    }

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
    public void commit(List<Change> changes) throws StoreException {
        Engine engine = Engine.get();
        engine.pause(engine.between(20_000, engine.oneIn(50) ? 200_000_000 : 2_000_000));
        List<Replaced> replaced = new ArrayList<>();
        for (Change change : changes) {
            Map<String, String> table = rows.tables.computeIfAbsent(change.table(), _ -> new TreeMap<>());
            replaced.add(new Replaced(
                    change.table(), change.key(), Optional.ofNullable(table.get(change.key())), change.row()));
            if (change.row().isPresent()) {
                table.put(change.key(), change.row().get());
            } else {
                table.remove(change.key());
            }
        }
        rows.revision++;
        watch.accept(replaced);
    }

    @Override
    public void recover() {}

    @Override
    public void close() {}
}
