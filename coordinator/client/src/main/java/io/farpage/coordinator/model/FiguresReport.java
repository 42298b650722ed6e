package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Predicate;

/**
 * How the guests of a node have faulted since its last report, the body of {@code POST /nodes/{id}/figures}.
 *
 * @param incarnation of the node
 * @param millis since the last report
 * @param faults of all guests of the node
 * @param guests each of them whose VMM runs
 */
public record FiguresReport(
        @JsonProperty(required = true) Incarnation incarnation,
        @JsonProperty(required = true) long millis,
        @JsonProperty(required = true) FaultFigures faults,
        @JsonProperty(required = true) List<Guest> guests) {

    /** The most guests of a report. */
    public static final int MAX_GUESTS = 1024;

    /** The longest time between two reports; faults before it are of no interest. */
    public static final long MAX_MILLIS = 3_600_000;

    /** Checks the fields, and copies the list. */
    public FiguresReport {
        Check.range("millis", millis, 1, MAX_MILLIS);
        Check.range("guests: number of elements", guests.size(), 0, MAX_GUESTS);
        guests = List.copyOf(guests);
    }

    /**
     * A guest of the node.
     *
     * @param space id of its space
     * @param pages where they are
     * @param faults since the last report
     * @param parkedSince since when it is parked, in seconds since 1970; empty if it is not
     * @param map where its pages are over its address space; empty unless the last answer has asked for it
     */
    public record Guest(
            @JsonProperty(required = true) long space,
            @JsonProperty(required = true) GuestPages pages,
            @JsonProperty(required = true) FaultFigures faults,
            OptionalLong parkedSince,
            Optional<PageMap> map) {}

    /** The same, of guests that a condition holds for. */
    public FiguresReport ofGuests(Predicate<Guest> condition) {
        return new FiguresReport(
                incarnation, millis, faults, guests.stream().filter(condition).toList());
    }
}
