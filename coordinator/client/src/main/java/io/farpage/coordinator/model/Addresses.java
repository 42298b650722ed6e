package io.farpage.coordinator.model;

import io.farpage.config.HostPort;

/** Checks host:port texts that a peer is to connect to. */
final class Addresses {

    private Addresses() {}

    /** An address that serves nothing if its port is 0. */
    static void checkOptional(String field, String value) {
        parse(field, value);
    }

    static void check(String field, String value) {
        Check.range(field + " (its port)", parse(field, value).port(), 1, 65535);
    }

    private static HostPort parse(String field, String value) {
        try {
            return HostPort.parse(value);
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(
                    "%s: '%s' must be host:port (%s)".formatted(field, value, e.getMessage()), e);
        }
    }
}
