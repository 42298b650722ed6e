package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;

/**
 * One start of a coordinator on a store. Written as {@code 7-89abcdef01234567}.
 *
 * @param number of starts of this store so far, from 1
 * @param nonce drawn anew at each start, so that two coordinators that start from copies of one store differ
 */
public record Epoch(long number, long nonce) {

    /** Checks the number. */
    public Epoch {
        Check.range("epoch", number, 1, Long.MAX_VALUE);
    }

    /**
     * Reads the number, a hyphen and 16 hex digits.
     *
     * @throws IllegalArgumentException if the text is anything else
     */
    @JsonCreator
    public static Epoch parse(String text) {
        int hyphen = text.indexOf('-');
        if (hyphen < 1) {
            throw new IllegalArgumentException(
                    "epoch '%s' is not a number, a hyphen and 16 hex digits".formatted(text));
        }
        return new Epoch(
                Check.number("epoch", text.substring(0, hyphen)), Check.hex16("epoch", text.substring(hyphen + 1)));
    }

    @JsonValue
    @Override
    public String toString() {
        return number + "-" + Check.hex16(nonce);
    }
}
