package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Predicate;

/**
 * How the guests of a node have faulted since its last report, and what it has done as a home of coherent spaces: the
 * body of {@code POST /nodes/{id}/figures}.
 *
 * @param incarnation of the node
 * @param millis since the last report
 * @param faults of all guests of the node
 * @param guests each of them whose VMM runs
 * @param directories of the coherent spaces that the node is a home of; empty unless the last answer has asked for them
 */
public record FiguresReport(
        @JsonProperty(required = true) Incarnation incarnation,
        @JsonProperty(required = true) long millis,
        @JsonProperty(required = true) FaultFigures faults,
        @JsonProperty(required = true) List<Guest> guests,
        Optional<List<DirectoryFigures>> directories) {

    /** The most guests of a report. */
    public static final int MAX_GUESTS = 1024;

    /** The most directories of a report. */
    public static final int MAX_DIRECTORIES = 256;

    /** The longest time between two reports; faults before it are of no interest. */
    public static final long MAX_MILLIS = 3_600_000;

    /** Checks the fields, and copies the lists. */
    public FiguresReport {
        Check.range("millis", millis, 1, MAX_MILLIS);
        Check.range("guests: number of elements", guests.size(), 0, MAX_GUESTS);
        directories.ifPresent(all -> Check.range("directories: number of elements", all.size(), 0, MAX_DIRECTORIES));
        guests = List.copyOf(guests);
        directories = directories.map(List::copyOf);
    }

    /** A report without directories. */
    public FiguresReport(Incarnation incarnation, long millis, FaultFigures faults, List<Guest> guests) {
        this(incarnation, millis, faults, guests, Optional.empty());
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

    /** The same, of the guests and the directories that conditions hold for. */
    public FiguresReport of(Predicate<Guest> ofGuest, Predicate<DirectoryFigures> ofDirectory) {
        return new FiguresReport(
                incarnation,
                millis,
                faults,
                guests.stream().filter(ofGuest).toList(),
                directories.map(all -> all.stream().filter(ofDirectory).toList()));
    }
}
