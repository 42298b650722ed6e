package io.farpage.audit;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** What the audit calls the routes of a service, by {@code METHOD path}. Immutable. */
public final class Acts {

    /** What the audit calls a request without an entry. */
    public static final String REQUEST = "request";

    private static final String ROUTINE = "";

    private final Map<String, String> words;

    private Acts(Map<String, String> words) {
        this.words = Map.copyOf(words);
    }

    /** Begins a table. */
    public static Builder builder() {
        return new Builder();
    }

    /** The word for a route; empty if the route is routine or has no entry. */
    public Optional<String> word(String method, String path) {
        return Optional.ofNullable(words.get(method + " " + path)).filter(word -> !word.equals(ROUTINE));
    }

    /** Whether a route changes nothing that the audit keeps, such as a heartbeat. Refusals are kept all the same. */
    public boolean isRoutine(String method, String path) {
        return ROUTINE.equals(words.get(method + " " + path));
    }

    /** The routes in the table, as {@code METHOD path}. */
    public Set<String> routes() {
        return words.keySet();
    }

    /** Collects entries. */
    public static final class Builder {
        private final Map<String, String> words = new LinkedHashMap<>();

        private Builder() {}

        /** Adds an act. */
        public Builder add(String method, String path, String word) {
            words.put(method + " " + path, word);
            return this;
        }

        /** Adds a route that is used all the time and changes nothing that the audit keeps. */
        public Builder routine(String method, String path) {
            return add(method, path, ROUTINE);
        }

        /** The table. */
        public Acts build() {
            return new Acts(words);
        }
    }
}
