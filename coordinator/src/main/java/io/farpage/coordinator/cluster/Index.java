package io.farpage.coordinator.cluster;

import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.pcollections.PSortedMap;
import org.pcollections.TreePMap;

/**
 * Finds rows by words in them rather than by their keys. It is worked out from the rows, so the store does not keep it.
 * Never changes.
 *
 * @param words of a row, each of parts with {@code /} between them
 * @param keys of the rows, by {@code word/key}
 */
record Index<V>(Function<V, Set<String>> words, PSortedMap<String, String> keys) {

    /** The index of rows that were read from the store. */
    static <V> Index<V> of(Map<String, V> rows, Function<V, Set<String>> words) {
        SortedMap<String, String> keys = new TreeMap<>();
        rows.forEach((key, row) -> words.apply(row).forEach(word -> keys.put(at(word, key), key)));
        return new Index<>(words, TreePMap.fromSortedMap(keys));
    }

    private static String at(String word, String key) {
        return word + "/" + key;
    }

    /** The index with one row put, replaced or removed. */
    Index<V> with(String key, Optional<V> before, Optional<V> after) {
        Set<String> old = before.map(words).orElse(Set.of());
        Set<String> now = after.map(words).orElse(Set.of());
        if (now.equals(old)) {
            return this;
        }
        PSortedMap<String, String> changed = keys;
        for (String word : old) {
            changed = now.contains(word) ? changed : changed.minus(at(word, key));
        }
        for (String word : now) {
            changed = old.contains(word) ? changed : changed.plus(at(word, key), key);
        }
        return new Index<>(words, changed);
    }

    /** The words that begin with these parts, in their order. Keys of rows have one part. */
    Set<String> words(String beginning) {
        return Keys.under(keys, beginning).keySet().stream()
                .map(key -> key.substring(0, key.lastIndexOf('/')))
                .collect(Collectors.toCollection(LinkedHashSet::new));
    }

    /** The keys of the rows that have a word, or one that begins with these parts, in their order. */
    Collection<String> under(String word) {
        return List.copyOf(Keys.under(keys, word).values());
    }
}
