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
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

/**
 * A coordinator's rows, which outlive its process. A commit takes a while. It may be refused, or take effect although
 * the coordinator is told that it has failed.
 */
public final class SimulatedStore implements Store {
    private static final Map<Path, Rows> DISKS = new HashMap<>();
    private static final Faults FAULTS = new Faults();
    private static Consumer<List<Replaced>> watch = _ -> {};

    /** What may happen to a commit. */
    public static final class Faults {
        /** One commit in this number fails; 0: none. */
        public int failsOneIn;
        /** Nanoseconds that a commit takes beyond the usual, at most. */
        public long lateNanos;
    }

    public static Faults faults() {
        return FAULTS;
    }

    private final Rows rows;
    /** Whether the coordinator leads, at the moment at which a commit takes effect. */
    private final BooleanSupplier leads;

    /** A row that a commit has changed. */
    public record Replaced(Table table, String key, Optional<String> before, Optional<String> after) {}

    /** Has every commit looked at, at the moment at which it takes effect. */
    public static void watch(Consumer<List<Replaced>> task) {
        watch = task;
    }

    /** What is on the disk. */
    private static final class Rows {
        private final Map<Table, Map<String, String>> tables = new EnumMap<>(Table.class);
        /** The rows that were lost last, until the next commit. */
        private final Map<Table, Map<String, String>> lost = new EnumMap<>(Table.class);

        /** Whether these are older rows, which {@link #lost} has replaced since. */
        private boolean isOld;

        private long revision;

        Optional<String> before(Table table, String key) {
            return Optional.ofNullable(tables.getOrDefault(table, Map.of()).get(key))
                    .or(() -> Optional.ofNullable(
                            lost.getOrDefault(table, Map.of()).get(key)));
        }

        /** What was lost and is not there again. */
        List<Replaced> gone() {
            List<Replaced> gone = new ArrayList<>();
            lost.forEach((table, rows) -> rows.forEach((key, row) -> {
                if (!tables.getOrDefault(table, Map.of()).containsKey(key)) {
                    gone.add(new Replaced(table, key, Optional.of(row), Optional.empty()));
                }
            }));
            lost.clear();
            return gone;
        }
    }

    private SimulatedStore(Rows rows, BooleanSupplier leads) {
        this.rows = rows;
        this.leads = leads;
    }

    static SimulatedStore open(Path directory) {
        return open(directory, () -> true);
    }

    /** @param leads whether the coordinator may write */
    static SimulatedStore open(Path directory, BooleanSupplier leads) {
        return new SimulatedStore(DISKS.computeIfAbsent(directory, _ -> new Rows()), leads);
    }

    /** All rows at one moment. */
    public record Copy(Map<Table, Map<String, String>> tables, long revision) {}

    /** What a backup holds that is made now. */
    public static Copy copy(Path directory) {
        Rows rows = DISKS.get(directory);
        Map<Table, Map<String, String>> tables = new EnumMap<>(Table.class);
        rows.tables.forEach((table, all) -> tables.put(table, new TreeMap<>(all)));
        return new Copy(tables, rows.revision);
    }

    /** Brings an older copy back. What is written to it is not looked at, and {@link #lose} follows. */
    public static void restore(Path directory, Copy older) {
        Rows rows = DISKS.get(directory);
        rows.lost.putAll(rows.tables);
        rows.tables.clear();
        older.tables().forEach((table, all) -> rows.tables.put(table, new TreeMap<>(all)));
        rows.revision = older.revision();
        rows.isOld = true;
    }

    /** Loses all rows. What the next commit writes replaces them, to those who look at commits. */
    public static void lose(Path directory) {
        Rows rows = DISKS.get(directory);
        if (!rows.isOld) {
            rows.lost.putAll(rows.tables);
        }
        rows.isOld = false;
        rows.tables.clear();
        rows.revision = 0;
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
        if (FAULTS.lateNanos > 0) {
            engine.pause(engine.between(0, FAULTS.lateNanos));
        }
        boolean fails = FAULTS.failsOneIn > 0 && engine.oneIn(FAULTS.failsOneIn);
        if (fails && engine.oneIn(2)) {
            engine.trail().count("commit refused");
            throw new StoreException("the disk refuses to write");
        }
        if (!leads.getAsBoolean()) {
            throw new StoreException("another coordinator leads");
        }
        List<Replaced> replaced = new ArrayList<>();
        for (Change change : changes) {
            replaced.add(new Replaced(
                    change.table(), change.key(), rows.before(change.table(), change.key()), change.row()));
            Map<String, String> table = rows.tables.computeIfAbsent(change.table(), _ -> new TreeMap<>());
            if (change.row().isPresent()) {
                table.put(change.key(), change.row().get());
            } else {
                table.remove(change.key());
            }
        }
        rows.revision++;
        if (!rows.isOld) {
            replaced.addAll(rows.gone());
            watch.accept(replaced);
        }
        if (fails) {
            engine.trail().count("commit made, and said to have failed");
            throw new StoreException("the disk does not say whether it has written");
        }
    }

    @Override
    public void recover() {}

    @Override
    public void close() {}
}
