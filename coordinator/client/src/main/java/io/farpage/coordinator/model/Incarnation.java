package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;
import java.security.SecureRandom;

/**
 * Which start of an agent: 64 bits that the agent draws anew each time it starts. In JSON 16 hex digits.
 *
 * @param value all 64 bits; no order is meant
 */
public record Incarnation(long value) {

    /** A new one, never 0. */
    public static Incarnation draw() {
        SecureRandom random = new SecureRandom();
        long value = random.nextLong();
        while (value == 0) {
            value = random.nextLong();
        }
        return new Incarnation(value);
    }

    /** Reads 16 hex digits. */
    @JsonCreator
    public static Incarnation parse(String text) {
        return new Incarnation(Check.hex16("incarnation", text));
    }

    /** The 16 hex digits. */
    @JsonValue
    @Override
    public String toString() {
        return Check.hex16(value);
    }
}
