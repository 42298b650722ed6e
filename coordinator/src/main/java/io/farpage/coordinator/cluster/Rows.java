package io.farpage.coordinator.cluster;

import io.farpage.coordinator.store.Change;
import io.farpage.coordinator.store.Table;
import io.farpage.rest.Json;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import org.pcollections.PSortedMap;

/**
 * One table within a {@link Draft}. The rows are a persistent map: a change copies the path to its row, and shares the
 * rest with the state before.
 */
final class Rows<V> {

    private final Table table;
    private final Optional<List<Change>> changes;
    private PSortedMap<String, V> rows;
    private Optional<Index<V>> index;

    private Rows(Table table, PSortedMap<String, V> before, Optional<Index<V>> index, Optional<List<Change>> changes) {
        this.table = table;
        this.rows = before;
        this.index = index;
        this.changes = changes;
    }

    /** Rows that the store keeps: what changes is added to the changes to be committed. */
    static <V> Rows<V> durable(Table table, PSortedMap<String, V> before, List<Change> changes) {
        return new Rows<>(table, before, Optional.empty(), Optional.of(changes));
    }

    /** Rows that the store keeps and that are found by words as well. */
    static <V> Rows<V> indexed(Table table, PSortedMap<String, V> before, Index<V> index, List<Change> changes) {
        return new Rows<>(table, before, Optional.of(index), Optional.of(changes));
    }

    /** Rows that are gone with the process, since those that published them publish them again. */
    static <V> Rows<V> soft(Table table, PSortedMap<String, V> before) {
        return new Rows<>(table, before, Optional.empty(), Optional.empty());
    }

    Optional<V> find(String key) {
        return Optional.ofNullable(rows.get(key));
    }

    int size() {
        return rows.size();
    }

    Collection<V> values() {
        return List.copyOf(rows.values());
    }

    /** The rows whose keys begin with a prefix that ends with {@code /}; {@code 0} is the character after that. */
    Collection<V> under(String prefix) {
        return List.copyOf(rows.subMap(prefix, prefix.substring(0, prefix.length() - 1) + "0")
                .values());
    }

    List<String> keys() {
        return List.copyOf(rows.keySet());
    }

    /** The keys of the rows that the index has under a word. */
    Collection<String> keysWith(String word) {
        return index().under(word);
    }

    void put(String key, V row) {
        index = index.map(known -> known.with(key, find(key), Optional.of(row)));
        rows = rows.plus(key, row);
        changes.ifPresent(all -> all.add(new Change(table, key, Optional.of(Json.STRICT.writeValueAsString(row)))));
    }

    boolean remove(String key) {
        if (!rows.containsKey(key)) {
            return false;
        }
        index = index.map(known -> known.with(key, find(key), Optional.empty()));
        rows = rows.minus(key);
        changes.ifPresent(all -> all.add(new Change(table, key, Optional.empty())));
        return true;
    }

    SortedMap<String, V> current() {
        return rows;
    }

    PSortedMap<String, V> finished() {
        return rows;
    }

    /** The index of the rows as they are. */
    Index<V> index() {
        return index.orElseThrow();
    }
}
