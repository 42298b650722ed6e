package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * All that a coordinator's store holds at one moment.
 *
 * @param revision number of changes made durable since the cluster began
 * @param tables rows by key, by the name of their table
 */
public record StoreCopy(
        @JsonProperty(required = true) long revision,
        @JsonProperty(required = true) SortedMap<String, SortedMap<String, String>> tables) {

    /** Checks the revision and copies the tables. */
    public StoreCopy {
        Check.range("revision", revision, 0, Long.MAX_VALUE);
        SortedMap<String, SortedMap<String, String>> copies = new TreeMap<>();
        tables.forEach((name, rows) -> copies.put(name, new TreeMap<>(rows)));
        tables = copies;
    }

    /** Rows of all tables. */
    public int rows() {
        return tables.values().stream().mapToInt(Map::size).sum();
    }
}
