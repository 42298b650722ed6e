package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.time.Instant;

/**
 * Why a space may hold a mix of older and newer pages: a guest that used it ended before all its pages were written to
 * their homes.
 *
 * @param reason how the guest's use of the space ended
 * @param at when the coordinator learned of it
 */
public record Torn(
        @JsonProperty(required = true) String reason,
        @JsonProperty(required = true) Instant at) {

    /** The longest reason, characters. */
    public static final int LONGEST_REASON = 255;

    /** A text as a reason may be: without control characters, and cut to the longest. */
    public static String reason(String text) {
        String printable = text.replaceAll("\\p{Cntrl}+", " ").strip();
        String cut = printable.length() > LONGEST_REASON ? printable.substring(0, LONGEST_REASON) : printable;
        return cut.isEmpty() ? "unknown" : cut;
    }

    /**
     * Checks a reason: 1 to 255 printable characters.
     *
     * @return the reason
     * @throws IllegalArgumentException if it is none
     */
    public static String checkReason(String reason) {
        return Check.text("torn", reason, LONGEST_REASON);
    }
}
