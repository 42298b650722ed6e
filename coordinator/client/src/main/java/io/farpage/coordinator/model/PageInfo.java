package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * Where one page lives.
 *
 * @param space id of its space
 * @param gpa guest-physical address of the page's first byte, {@code 0x} and hex digits
 * @param page its number within the space
 * @param homes where it is, the primary first, with the offset of this very page
 * @param state whether it can still be had
 * @param heat faults in a minute of all pages that are counted together with this one, as last reported; 0 if not in
 *     the last minute
 */
public record PageInfo(
        @JsonProperty(required = true) long space,
        @JsonProperty(required = true) RemoteAddress gpa,
        @JsonProperty(required = true) long page,
        @JsonProperty(required = true) List<ExtentHome> homes,
        @JsonProperty(required = true) ExtentState state,
        @JsonProperty(required = true) long heat) {

    /** Copies the homes. */
    public PageInfo {
        homes = List.copyOf(homes);
    }
}
