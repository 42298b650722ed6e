package io.farpage.coordinator.backup;

import io.farpage.coordinator.cluster.Lineage;
import io.farpage.coordinator.model.StoreCopy;
import io.farpage.coordinator.store.Change;
import io.farpage.coordinator.store.Store;
import io.farpage.coordinator.store.Table;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Copies the rows of a store that nothing else writes to meanwhile, and puts a copy into another store. */
public final class Rows {

    private Rows() {}

    /**
     * All rows.
     *
     * @throws io.farpage.coordinator.store.StoreException if they cannot be read
     */
    public static StoreCopy of(Store store) {
        SortedMap<String, SortedMap<String, String>> tables = new TreeMap<>();
        for (Table table : Table.values()) {
            tables.put(name(table), new TreeMap<>(store.rows(table)));
        }
        return new StoreCopy(Lineage.revision(store), tables);
    }

    /**
     * Puts a copy into a store with one commit, so that a failure leaves the store as it was. The cluster's history
     * goes on at the copy's revision.
     *
     * @param copy with tables that this program knows, as {@link BackupFile#read} checks
     * @param name what to call the store in a message
     * @param force to replace what the store holds
     * @throws BackupException if the store holds rows and {@code force} is false
     */
    public static void restore(StoreCopy copy, String name, Store store, boolean force) {
        List<Change> changes = new ArrayList<>();
        for (Table table : Table.values()) {
            store.rows(table).keySet().forEach(key -> changes.add(new Change(table, key, Optional.empty())));
        }
        if (!changes.isEmpty() && !force) {
            String cluster = store.rows(Table.COUNTERS).getOrDefault(Lineage.CLUSTER_ID, "(none)");
            throw new BackupException(
                    ("%s is not empty: it has %d rows of cluster %s; restore into an empty one, or replace them with"
                                    + " --force")
                            .formatted(name, changes.size(), cluster));
        }
        for (Table table : Table.values()) {
            copy.tables()
                    .getOrDefault(name(table), Collections.emptySortedMap())
                    .forEach((key, row) -> changes.add(new Change(table, key, Optional.of(row))));
        }
        // The commit itself counts as one.
        long base = copy.revision() - (store.revision() + 1);
        changes.add(new Change(Table.COUNTERS, Lineage.REVISION_BASE, Optional.of(Long.toString(base))));
        store.commit(changes);
    }

    /** Names of tables in a copy that this program does not know, in their order. */
    static List<String> unknownTables(StoreCopy copy) {
        Set<String> known = Arrays.stream(Table.values()).map(Rows::name).collect(Collectors.toSet());
        return copy.tables().keySet().stream()
                .filter(table -> !known.contains(table))
                .toList();
    }

    private static String name(Table table) {
        return table.name().toLowerCase(Locale.ROOT);
    }
}
