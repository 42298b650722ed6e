package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.Stream;

/**
 * A run of pages of a space and where they live. Each home has the newest version of every page that is not in a
 * guest's memory.
 *
 * @param firstPage number of its first page within the space
 * @param count how many pages
 * @param homes where they are, all in sync; none if the space is thin and no room was allocated for the pages, which
 *     are zeros then, or those of the snapshot of a clone. Pages are read from these alone
 * @param state whether they can still be had
 * @param epoch how often the homes have changed; empty until the first change
 * @param dropped former homes, whose frames are not reused before the attached node has acknowledged the epoch or is
 *     gone; empty if there are none
 * @param joining a home that pulls the pages from the homes, or from those of the snapshot where there is none, is
 *     never read from, and becomes one of them by a promotion; empty if there is none
 * @param pull how far the joining home has come; empty if none joins
 * @param filled pools that have pulled all pages from the snapshot, and become homes together with further ones that
 *     are filled; nothing is read from them or written to them before. Empty if there are none
 */
public record Extent(
        @JsonProperty(required = true) long firstPage,
        @JsonProperty(required = true) long count,
        @JsonProperty(required = true) List<ExtentHome> homes,
        @JsonProperty(required = true) ExtentState state,
        OptionalLong epoch,
        Optional<List<DroppedHome>> dropped,
        Optional<ExtentHome> joining,
        Optional<PullState> pull,
        Optional<List<ExtentHome>> filled) {

    /** Copies the homes. */
    public Extent {
        homes = List.copyOf(homes);
        Check.range("homes: number of elements", homes.size(), 0, 16);
        dropped = dropped.map(List::copyOf).filter(former -> !former.isEmpty());
        if (joining.isPresent() != pull.isPresent()) {
            throw new IllegalArgumentException("joining: %s, but pull: %s".formatted(joining, pull));
        }
        filled = filled.map(List::copyOf).filter(pools -> !pools.isEmpty());
        if (filled.isPresent() && !homes.isEmpty()) {
            throw new IllegalArgumentException("filled: %s, but homes: %s".formatted(filled, homes));
        }
    }

    /** An extent for which no pool was filled. */
    public Extent(
            long firstPage,
            long count,
            List<ExtentHome> homes,
            ExtentState state,
            OptionalLong epoch,
            Optional<List<DroppedHome>> dropped,
            Optional<ExtentHome> joining,
            Optional<PullState> pull) {
        this(firstPage, count, homes, state, epoch, dropped, joining, pull, Optional.empty());
    }

    /** An extent whose homes have never changed. */
    public Extent(long firstPage, long count, List<ExtentHome> homes, ExtentState state) {
        this(
                firstPage,
                count,
                homes,
                state,
                OptionalLong.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty());
    }

    /**
     * Whether the pages have room at homes. If not, all of them are zeros, or those of a snapshot, apart from those in
     * a guest's memory.
     */
    public boolean isAllocated() {
        return !homes.isEmpty();
    }

    /** Whether it has room at fewer homes than its space was made with; also if the pages are lost. */
    public boolean isShortOf(int copies) {
        return isAllocated() && homes.size() < copies;
    }

    /** The home to fetch from first. */
    public ExtentHome primary() {
        return homes.getFirst();
    }

    /** How often the homes have changed. */
    public long epochNumber() {
        return epoch.orElse(0);
    }

    /** The former homes whose frames must not be reused yet. */
    public List<DroppedHome> droppedHomes() {
        return dropped.orElse(List.of());
    }

    /** The pools that become homes together with further ones. */
    public List<ExtentHome> filledPools() {
        return filled.orElse(List.of());
    }

    /** All places that the attached node may still write to: those that it will write to, and the dropped ones. */
    public Stream<ExtentHome> places() {
        return Stream.concat(targets(), droppedHomes().stream().map(DroppedHome::home));
    }

    /** All places that the attached node writes to in the end: the homes, what is filled, and the one that joins. */
    public Stream<ExtentHome> targets() {
        return Stream.concat(Stream.concat(homes.stream(), filledPools().stream()), joining.stream());
    }

    /** Whether a page of the space is in this run. */
    public boolean contains(long page) {
        return page >= firstPage && page < firstPage + count;
    }
}
