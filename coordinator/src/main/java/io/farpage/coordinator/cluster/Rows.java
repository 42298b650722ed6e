package io.farpage.coordinator.cluster;

import io.farpage.coordinator.store.Change;
import io.farpage.coordinator.store.Table;
import io.farpage.rest.Json;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** One table within a {@link Draft}: the rows as they were until the first change, then a copy with the changes. */
final class Rows<V> {

    private final Table table;
    private final SortedMap<String, V> before;
    private final List<Change> changes;
    private @Nullable SortedMap<String, V> after;

    Rows(Table table, SortedMap<String, V> before, List<Change> changes) {
        this.table = table;
        this.before = before;
        this.changes = changes;
    }

    Optional<V> find(String key) {
        return Optional.ofNullable(current().get(key));
    }

    int size() {
        return current().size();
    }

    Collection<V> values() {
        return List.copyOf(current().values());
    }

    /** The rows whose keys begin with a prefix that ends with {@code /}; {@code 0} is the character after that. */
    Collection<V> under(String prefix) {
        return List.copyOf(current()
                .subMap(prefix, prefix.substring(0, prefix.length() - 1) + "0")
                .values());
    }

    List<String> keys() {
        return List.copyOf(current().keySet());
    }

    void put(String key, V row) {
        copy().put(key, row);
        changes.add(new Change(table, key, Optional.of(Json.STRICT.writeValueAsString(row))));
    }

    boolean remove(String key) {
        if (!current().containsKey(key)) {
            return false;
        }
        copy().remove(key);
        changes.add(new Change(table, key, Optional.empty()));
        return true;
    }

    SortedMap<String, V> current() {
        return after == null ? before : after;
    }

    SortedMap<String, V> finished() {
        return after == null ? before : Collections.unmodifiableSortedMap(after);
    }

    private SortedMap<String, V> copy() {
        if (after == null) {
            after = new TreeMap<>(before);
        }
        return after;
    }
}
