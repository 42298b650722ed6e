package io.farpage.agent.control.guest;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * That a guest is parked: its memory is at its homes, but for a few pages.
 *
 * @param keepPages that may be resident meanwhile
 * @param pagesBefore that were resident when it was parked
 * @param since when, in seconds since 1970
 */
public record Parked(
        @JsonProperty(required = true) long keepPages,
        @JsonProperty(required = true) long pagesBefore,
        @JsonProperty(required = true) long since) {

    /** Pages that have left since, if {@code resident} pages are resident now. */
    public long leftPages(long resident) {
        return Math.max(0, pagesBefore - resident);
    }
}
