package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;

/**
 * Which publication of an endpoint: 64 bits that its publisher chooses, opaque to the coordinator, so that a peer can
 * tell an endpoint published again from the old one. In JSON 16 hex digits.
 *
 * @param value all 64 bits
 */
public record Attempt(long value) {

    /** Reads 16 hex digits. */
    @JsonCreator
    public static Attempt parse(String text) {
        return new Attempt(Check.hex16("attempt", text));
    }

    /** The 16 hex digits. */
    @JsonValue
    @Override
    public String toString() {
        return Check.hex16(value);
    }
}
