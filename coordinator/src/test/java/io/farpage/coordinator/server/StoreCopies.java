package io.farpage.coordinator.server;

import io.farpage.coordinator.model.StoreCopy;
import java.util.SortedMap;
import java.util.TreeMap;

/** What tests compare of copies of stores. */
public final class StoreCopies {

    private StoreCopies() {}

    /** All rows but the one that says at which revision a store's own count began. */
    public static SortedMap<String, SortedMap<String, String>> withoutBase(StoreCopy copy) {
        SortedMap<String, SortedMap<String, String>> tables = new TreeMap<>();
        copy.tables().forEach((table, rows) -> tables.put(table, new TreeMap<>(rows)));
        tables.getOrDefault("counters", new TreeMap<>()).remove("revision-base");
        return tables;
    }
}
