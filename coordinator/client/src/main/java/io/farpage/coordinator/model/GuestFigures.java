package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * How guests have faulted, and where their pages are; and how they share coherent spaces.
 *
 * @param now the coordinator's clock, in seconds since 1970, as the times of the histories
 * @param since when this coordinator began to collect figures, by the same clock; it has none from before
 * @param guests with figures from the last 15 minutes, in the order of the names of their spaces
 * @param coherent the coherent spaces, in the order of their names
 */
public record GuestFigures(
        @JsonProperty(required = true) long now,
        @JsonProperty(required = true) long since,
        @JsonProperty(required = true) List<OfGuest> guests,
        @JsonProperty(required = true) List<CoherentFigures> coherent) {

    /** Copies the lists. */
    public GuestFigures {
        guests = List.copyOf(guests);
        coherent = List.copyOf(coherent);
    }

    /**
     * A guest.
     *
     * @param spaceId id of its space
     * @param space name of its space
     * @param node that has reported it last
     * @param pages where its pages were then
     * @param history of its faults
     * @param parkedSince since when it is parked, in seconds since 1970 by its agent's clock; empty if it is not
     * @param map where its pages are over its address space, once the agent has sent that; only of a guest that is
     *     asked for alone
     * @param heat faults in a minute of each part of {@code map}, or of 256 parts; only of a guest that is asked for
     *     alone
     */
    public record OfGuest(
            @JsonProperty(required = true) long spaceId,
            @JsonProperty(required = true) String space,
            @JsonProperty(required = true) String node,
            @JsonProperty(required = true) GuestPages pages,
            @JsonProperty(required = true) FaultHistory history,
            OptionalLong parkedSince,
            Optional<PageMap> map,
            Optional<List<Long>> heat) {}
}
