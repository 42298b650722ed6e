package io.farpage.rest;

import java.util.Map;

/**
 * The answer of {@code /health}: status 200 when healthy, otherwise 503.
 *
 * @param healthy whether the service can do its work
 * @param service its name
 * @param version its version
 * @param details by name, what it looked at
 */
public record Health(boolean healthy, String service, String version, Map<String, String> details) {

    /** Copies the details. */
    public Health {
        details = Map.copyOf(details);
    }

    /** What a client without identity sees. */
    Health withoutDetails() {
        return new Health(healthy, service, version, Map.of());
    }
}
