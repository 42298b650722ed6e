package io.farpage.rest;

import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The answer of {@code /health}: status 200 when healthy, otherwise 503.
 *
 * @param healthy whether the service can do its work
 * @param service its name
 * @param version its version
 * @param details by name, what it looked at
 * @param parts the state of each of its parts
 */
public record Health(boolean healthy, String service, String version, Map<String, String> details, List<Part> parts) {

    /** Copies details and parts. */
    public Health {
        details = Map.copyOf(details);
        parts = List.copyOf(parts);
    }

    /** Healthy as long as no part has failed. */
    public static Health of(String service, String version, Map<String, String> details, List<Part> parts) {
        return new Health(parts.stream().noneMatch(Part::hasFailed), service, version, details, parts);
    }

    /** The same with more details. */
    public Health with(Map<String, String> more) {
        Map<String, String> all = new HashMap<>(details);
        all.putAll(more);
        return new Health(healthy, service, version, all, parts);
    }

    /**
     * A part of a service.
     *
     * @param name of it
     * @param state {@code ok}, {@code degraded} (the service does its work all the same) or {@code failed}
     * @param detail what was found
     * @param since when the part was first found in this state, if that is not {@code ok}; UTC, RFC 3339
     */
    public record Part(String name, String state, String detail, Optional<String> since) {

        /** A part that does what it is for. */
        public static Part ok(String name, String detail) {
            return new Part(name, "ok", detail, Optional.empty());
        }

        /** A part without which the service still does its work. */
        public static Part degraded(String name, String detail) {
            return new Part(name, "degraded", detail, Optional.empty());
        }

        /** A part without which the service cannot do its work. */
        public static Part failed(String name, String detail) {
            return new Part(name, "failed", detail, Optional.empty());
        }

        /** The same, since a moment. */
        public Part since(Instant moment) {
            return new Part(
                    name,
                    state,
                    detail,
                    Optional.of(moment.truncatedTo(ChronoUnit.MILLIS).toString()));
        }

        boolean hasFailed() {
            return state.equals("failed");
        }
    }

    /** What a client without identity sees. */
    Health withoutDetails() {
        return new Health(healthy, service, version, Map.of(), List.of());
    }
}
