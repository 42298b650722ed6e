package io.farpage.coordinator.model;

import io.farpage.config.HostPort;

/** Checks host:port texts that a peer is to connect to. */
final class Addresses {

    private Addresses() {}

    static void check(String field, String value) {
        HostPort parsed;
        try {
            parsed = HostPort.parse(value);
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(
                    "%s: '%s' must be host:port (%s)".formatted(field, value, e.getMessage()), e);
        }
        Check.range(field + " (its port)", parsed.port(), 1, 65535);
    }
}
