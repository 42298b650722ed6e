package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;

/**
 * A virtual address in another process. In JSON {@code 0x} and hex digits, since JSON's numbers lose bits above 2⁵³.
 *
 * @param value unsigned
 */
public record RemoteAddress(long value) {

    /** Reads {@code 0x} and 1 to 16 hex digits. */
    @JsonCreator
    public static RemoteAddress parse(String text) {
        if (!text.matches("0[xX][0-9a-fA-F]{1,16}")) {
            throw new IllegalArgumentException("address: '%s' must be 0x and 1 to 16 hex digits".formatted(text));
        }
        return new RemoteAddress(Long.parseUnsignedLong(text.substring(2), 16));
    }

    /** {@code 0x} and hex digits. */
    @JsonValue
    @Override
    public String toString() {
        return "0x" + Long.toHexString(value);
    }
}
