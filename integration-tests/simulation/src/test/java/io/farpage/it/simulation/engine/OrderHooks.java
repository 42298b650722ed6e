package io.farpage.it.simulation.engine;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BinaryOperator;
import java.util.function.Function;
import java.util.stream.Collector;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Collections whose order would differ from one JVM to the next, in the order of insertion. */
@SuppressWarnings("unchecked")
public final class OrderHooks {
    private OrderHooks() {}

    private static void put(Map<Object, Object> all, Object key, Object value) {
        if (key == null || value == null) {
            throw new NullPointerException();
        }
        if (all.put(key, value) != null) {
            throw new IllegalArgumentException("duplicate key: " + key);
        }
    }

    private static Set<Object> distinct(List<Object> elements) {
        Set<Object> all = new LinkedHashSet<>(elements);
        if (all.size() < elements.size()) {
            throw new IllegalArgumentException("duplicate element in " + elements);
        }
        return Collections.unmodifiableSet(all);
    }

    /** The files of a directory in the order of their names. */
    public static Stream<Path> list(Path directory) throws IOException {
        try (Stream<Path> all = Files.list(directory)) {
            return all.sorted().toList().stream();
        }
    }

    public static Set<Object> setOf(Object[] elements) {
        return distinct(Arrays.asList(elements));
    }

    public static Set<Object> setCopyOf(Collection<?> elements) {
        elements.forEach(java.util.Objects::requireNonNull);
        return Collections.unmodifiableSet(new LinkedHashSet<>(elements));
    }

    public static Map<Object, Object> mapCopyOf(Map<?, ?> map) {
        return Collections.unmodifiableMap(new LinkedHashMap<>(map));
    }

    public static Map<Object, Object> mapOfEntries(Map.Entry<?, ?>[] entries) {
        Map<Object, Object> all = new LinkedHashMap<>();
        for (Map.Entry<?, ?> entry : entries) {
            put(all, entry.getKey(), entry.getValue());
        }
        return Collections.unmodifiableMap(all);
    }

    public static Collector<Object, ?, Set<Object>> toUnmodifiableSet() {
        return Collectors.collectingAndThen(Collectors.toCollection(LinkedHashSet::new), Collections::unmodifiableSet);
    }

    public static Collector<Object, ?, Map<Object, Object>> toUnmodifiableMap(
            Function<Object, Object> key, Function<Object, Object> value) {
        BinaryOperator<Object> refuse = (a, b) -> {
            throw new IllegalStateException("duplicate key");
        };
        return Collectors.collectingAndThen(
                Collectors.toMap(key, value, refuse, LinkedHashMap::new), Collections::unmodifiableMap);
    }

    public static Collector<Object, ?, ?> toSet() {
        return Collectors.toCollection(LinkedHashSet::new);
    }

    public static Collector<Object, ?, ?> toMap(Function<Object, Object> key, Function<Object, Object> value) {
        BinaryOperator<Object> refuse = (a, b) -> {
            throw new IllegalStateException("duplicate key");
        };
        return Collectors.toMap(key, value, refuse, LinkedHashMap::new);
    }

    public static Collector<Object, ?, ?> toMap(
            Function<Object, Object> key, Function<Object, Object> value, BinaryOperator<Object> merge) {
        return Collectors.toMap(key, value, merge, LinkedHashMap::new);
    }

    public static Collector<Object, ?, ?> toMap(
            Function<Object, Object> key,
            Function<Object, Object> value,
            BinaryOperator<Object> merge,
            java.util.function.Supplier<Map<Object, Object>> map) {
        return Collectors.toMap(key, value, merge, map);
    }

    public static Collector<Object, ?, ?> groupingBy(Function<Object, Object> key) {
        return Collectors.groupingBy(key, LinkedHashMap::new, Collectors.toList());
    }

    public static Collector<Object, ?, ?> groupingBy(Function<Object, Object> key, Collector<Object, ?, Object> down) {
        return Collectors.groupingBy(key, LinkedHashMap::new, down);
    }

    public static Collector<Object, ?, ?> groupingBy(
            Function<Object, Object> key,
            java.util.function.Supplier<Map<Object, Object>> map,
            Collector<Object, ?, Object> down) {
        return Collectors.groupingBy(key, map, down);
    }

    public static Map<Object, Object> mapOf() {
        Map<Object, Object> all = new LinkedHashMap<>();
        return Collections.unmodifiableMap(all);
    }

    public static Map<Object, Object> mapOf(Object k0, Object v0) {
        Map<Object, Object> all = new LinkedHashMap<>();
        put(all, k0, v0);
        return Collections.unmodifiableMap(all);
    }

    public static Map<Object, Object> mapOf(Object k0, Object v0, Object k1, Object v1) {
        Map<Object, Object> all = new LinkedHashMap<>();
        put(all, k0, v0);
        put(all, k1, v1);
        return Collections.unmodifiableMap(all);
    }

    public static Map<Object, Object> mapOf(Object k0, Object v0, Object k1, Object v1, Object k2, Object v2) {
        Map<Object, Object> all = new LinkedHashMap<>();
        put(all, k0, v0);
        put(all, k1, v1);
        put(all, k2, v2);
        return Collections.unmodifiableMap(all);
    }

    public static Map<Object, Object> mapOf(
            Object k0, Object v0, Object k1, Object v1, Object k2, Object v2, Object k3, Object v3) {
        Map<Object, Object> all = new LinkedHashMap<>();
        put(all, k0, v0);
        put(all, k1, v1);
        put(all, k2, v2);
        put(all, k3, v3);
        return Collections.unmodifiableMap(all);
    }

    public static Map<Object, Object> mapOf(
            Object k0,
            Object v0,
            Object k1,
            Object v1,
            Object k2,
            Object v2,
            Object k3,
            Object v3,
            Object k4,
            Object v4) {
        Map<Object, Object> all = new LinkedHashMap<>();
        put(all, k0, v0);
        put(all, k1, v1);
        put(all, k2, v2);
        put(all, k3, v3);
        put(all, k4, v4);
        return Collections.unmodifiableMap(all);
    }

    public static Map<Object, Object> mapOf(
            Object k0,
            Object v0,
            Object k1,
            Object v1,
            Object k2,
            Object v2,
            Object k3,
            Object v3,
            Object k4,
            Object v4,
            Object k5,
            Object v5) {
        Map<Object, Object> all = new LinkedHashMap<>();
        put(all, k0, v0);
        put(all, k1, v1);
        put(all, k2, v2);
        put(all, k3, v3);
        put(all, k4, v4);
        put(all, k5, v5);
        return Collections.unmodifiableMap(all);
    }

    public static Map<Object, Object> mapOf(
            Object k0,
            Object v0,
            Object k1,
            Object v1,
            Object k2,
            Object v2,
            Object k3,
            Object v3,
            Object k4,
            Object v4,
            Object k5,
            Object v5,
            Object k6,
            Object v6) {
        Map<Object, Object> all = new LinkedHashMap<>();
        put(all, k0, v0);
        put(all, k1, v1);
        put(all, k2, v2);
        put(all, k3, v3);
        put(all, k4, v4);
        put(all, k5, v5);
        put(all, k6, v6);
        return Collections.unmodifiableMap(all);
    }

    public static Map<Object, Object> mapOf(
            Object k0,
            Object v0,
            Object k1,
            Object v1,
            Object k2,
            Object v2,
            Object k3,
            Object v3,
            Object k4,
            Object v4,
            Object k5,
            Object v5,
            Object k6,
            Object v6,
            Object k7,
            Object v7) {
        Map<Object, Object> all = new LinkedHashMap<>();
        put(all, k0, v0);
        put(all, k1, v1);
        put(all, k2, v2);
        put(all, k3, v3);
        put(all, k4, v4);
        put(all, k5, v5);
        put(all, k6, v6);
        put(all, k7, v7);
        return Collections.unmodifiableMap(all);
    }

    public static Map<Object, Object> mapOf(
            Object k0,
            Object v0,
            Object k1,
            Object v1,
            Object k2,
            Object v2,
            Object k3,
            Object v3,
            Object k4,
            Object v4,
            Object k5,
            Object v5,
            Object k6,
            Object v6,
            Object k7,
            Object v7,
            Object k8,
            Object v8) {
        Map<Object, Object> all = new LinkedHashMap<>();
        put(all, k0, v0);
        put(all, k1, v1);
        put(all, k2, v2);
        put(all, k3, v3);
        put(all, k4, v4);
        put(all, k5, v5);
        put(all, k6, v6);
        put(all, k7, v7);
        put(all, k8, v8);
        return Collections.unmodifiableMap(all);
    }

    public static Map<Object, Object> mapOf(
            Object k0,
            Object v0,
            Object k1,
            Object v1,
            Object k2,
            Object v2,
            Object k3,
            Object v3,
            Object k4,
            Object v4,
            Object k5,
            Object v5,
            Object k6,
            Object v6,
            Object k7,
            Object v7,
            Object k8,
            Object v8,
            Object k9,
            Object v9) {
        Map<Object, Object> all = new LinkedHashMap<>();
        put(all, k0, v0);
        put(all, k1, v1);
        put(all, k2, v2);
        put(all, k3, v3);
        put(all, k4, v4);
        put(all, k5, v5);
        put(all, k6, v6);
        put(all, k7, v7);
        put(all, k8, v8);
        put(all, k9, v9);
        return Collections.unmodifiableMap(all);
    }

    public static Set<Object> setOf() {
        return distinct(List.of());
    }

    public static Set<Object> setOf(Object e0) {
        return distinct(List.of(e0));
    }

    public static Set<Object> setOf(Object e0, Object e1) {
        return distinct(List.of(e0, e1));
    }

    public static Set<Object> setOf(Object e0, Object e1, Object e2) {
        return distinct(List.of(e0, e1, e2));
    }

    public static Set<Object> setOf(Object e0, Object e1, Object e2, Object e3) {
        return distinct(List.of(e0, e1, e2, e3));
    }

    public static Set<Object> setOf(Object e0, Object e1, Object e2, Object e3, Object e4) {
        return distinct(List.of(e0, e1, e2, e3, e4));
    }

    public static Set<Object> setOf(Object e0, Object e1, Object e2, Object e3, Object e4, Object e5) {
        return distinct(List.of(e0, e1, e2, e3, e4, e5));
    }

    public static Set<Object> setOf(Object e0, Object e1, Object e2, Object e3, Object e4, Object e5, Object e6) {
        return distinct(List.of(e0, e1, e2, e3, e4, e5, e6));
    }

    public static Set<Object> setOf(
            Object e0, Object e1, Object e2, Object e3, Object e4, Object e5, Object e6, Object e7) {
        return distinct(List.of(e0, e1, e2, e3, e4, e5, e6, e7));
    }

    public static Set<Object> setOf(
            Object e0, Object e1, Object e2, Object e3, Object e4, Object e5, Object e6, Object e7, Object e8) {
        return distinct(List.of(e0, e1, e2, e3, e4, e5, e6, e7, e8));
    }

    public static Set<Object> setOf(
            Object e0,
            Object e1,
            Object e2,
            Object e3,
            Object e4,
            Object e5,
            Object e6,
            Object e7,
            Object e8,
            Object e9) {
        return distinct(List.of(e0, e1, e2, e3, e4, e5, e6, e7, e8, e9));
    }
}
