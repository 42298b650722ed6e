package io.farpage.access;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Which route needs what, by {@code METHOD path}. A route that is not in the table is refused to every identity.
 * Immutable.
 */
public final class AccessTable {

    private final Map<String, Access> entries;

    private AccessTable(Map<String, Access> entries) {
        this.entries = Map.copyOf(entries);
    }

    /** Begins a table. */
    public static Builder builder() {
        return new Builder();
    }

    /** What a route needs. */
    public Optional<Access> of(String method, String path) {
        return Optional.ofNullable(entries.get(method + " " + path));
    }

    /** The routes in the table, as {@code METHOD path}. */
    public Set<String> routes() {
        return entries.keySet();
    }

    /** Collects entries. */
    public static final class Builder {
        private final Map<String, Access> entries = new LinkedHashMap<>();

        private Builder() {}

        /**
         * Adds a route.
         *
         * @throws IllegalArgumentException if it has an entry already
         */
        public Builder add(String method, String path, Access access) {
            if (entries.put(method + " " + path, access) != null) {
                throw new IllegalArgumentException(method + " " + path + " has two entries");
            }
            return this;
        }

        /** The table. */
        public AccessTable build() {
            return new AccessTable(entries);
        }
    }
}
