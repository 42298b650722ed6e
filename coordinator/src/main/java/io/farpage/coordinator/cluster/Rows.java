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

    private final Stored<V> stored;
    private PSortedMap<String, V> rows;
    private Optional<Index<V>> index;

    /** What the store keeps of a row. */
    interface Stored<V> {
        /**
         * A row was put, replaced or removed.
         *
         * @param before empty if there was none
         * @param after empty if it was removed
         */
        void onChange(String key, Optional<V> before, Optional<V> after);

        /** This one, and then the other one. */
        default Stored<V> and(Stored<V> next) {
            return (key, before, after) -> {
                onChange(key, before, after);
                next.onChange(key, before, after);
            };
        }
    }

    private Rows(PSortedMap<String, V> before, Optional<Index<V>> index, Stored<V> stored) {
        this.rows = before;
        this.index = index;
        this.stored = stored;
    }

    /** Rows that the store keeps: what changes is added to the changes to be committed. */
    static <V> Rows<V> durable(Table table, PSortedMap<String, V> before, List<Change> changes) {
        return durable(before, asRows(table, changes));
    }

    /** Rows that the store keeps in some way. */
    static <V> Rows<V> durable(PSortedMap<String, V> before, Stored<V> stored) {
        return new Rows<>(before, Optional.empty(), stored);
    }

    /** Rows that the store keeps and that are found by words as well. */
    static <V> Rows<V> indexed(Table table, PSortedMap<String, V> before, Index<V> index, List<Change> changes) {
        return indexed(before, index, asRows(table, changes));
    }

    /** Rows that are found by words as well. */
    static <V> Rows<V> indexed(PSortedMap<String, V> before, Index<V> index, Stored<V> stored) {
        return new Rows<>(before, Optional.of(index), stored);
    }

    /** Rows that are gone with the process, since those that published them publish them again. */
    static <V> Rows<V> soft(PSortedMap<String, V> before) {
        return new Rows<>(before, Optional.empty(), (_, _, _) -> {});
    }

    /** Each row is one of the store. */
    static <V> Stored<V> asRows(Table table, List<Change> changes) {
        return (key, _, after) -> changes.add(new Change(table, key, after.map(Json.STRICT::writeValueAsString)));
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

    /** The keys of the rows that the index has under a word. */
    Collection<String> keysWith(String word) {
        return index().under(word);
    }

    void put(String key, V row) {
        change(key, Optional.of(row));
        rows = rows.plus(key, row);
    }

    boolean remove(String key) {
        if (!rows.containsKey(key)) {
            return false;
        }
        change(key, Optional.empty());
        rows = rows.minus(key);
        return true;
    }

    private void change(String key, Optional<V> after) {
        Optional<V> before = find(key);
        index = index.map(known -> known.with(key, before, after));
        stored.onChange(key, before, after);
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
