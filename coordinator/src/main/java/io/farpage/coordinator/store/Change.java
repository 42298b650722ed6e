package io.farpage.coordinator.store;

import java.util.Optional;

/**
 * One row put or deleted.
 *
 * @param table of the row
 * @param key of the row
 * @param row its JSON, or empty to delete it
 */
public record Change(Table table, String key, Optional<String> row) {}
