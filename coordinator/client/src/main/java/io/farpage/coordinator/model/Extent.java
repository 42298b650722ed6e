package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * A run of pages of a space and where they live. Each home has the newest version of every page that is not in a
 * guest's memory.
 *
 * @param firstPage number of its first page within the space
 * @param count how many pages
 * @param homes where they are, all in sync; at least one. Pages are read from these alone
 * @param state whether they can still be had
 * @param epoch how often the homes have changed; empty until the first change
 * @param dropped former homes, whose frames are not reused before the attached node has acknowledged the epoch or is
 *     gone; empty if there are none
 * @param joining a home that pulls the pages from the homes, is never read from, and becomes one of them by
 *     {@link #promote}; empty if there is none
 * @param pull how far the joining home has come; empty if none joins
 */
public record Extent(
        @JsonProperty(required = true) long firstPage,
        @JsonProperty(required = true) long count,
        @JsonProperty(required = true) List<ExtentHome> homes,
        @JsonProperty(required = true) ExtentState state,
        OptionalLong epoch,
        Optional<List<DroppedHome>> dropped,
        Optional<ExtentHome> joining,
        Optional<PullState> pull) {

    /** Copies the homes. */
    public Extent {
        homes = List.copyOf(homes);
        Check.range("homes: number of elements", homes.size(), 1, 16);
        dropped = dropped.map(List::copyOf).filter(former -> !former.isEmpty());
        if (joining.isPresent() != pull.isPresent()) {
            throw new IllegalArgumentException("joining: %s, but pull: %s".formatted(joining, pull));
        }
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
                Optional.empty());
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

    /** All places that the attached node may still write to: the homes, the one that joins, and the dropped ones. */
    public Stream<ExtentHome> places() {
        return Stream.concat(targets(), droppedHomes().stream().map(DroppedHome::home));
    }

    /** All places that the attached node writes to in the end: the homes and the one that joins. */
    public Stream<ExtentHome> targets() {
        return Stream.concat(homes.stream(), joining.stream());
    }

    /** Whether a page of the space is in this run. */
    public boolean contains(long page) {
        return page >= firstPage && page < firstPage + count;
    }

    /** The same with another state. */
    public Extent withState(ExtentState other) {
        return new Extent(firstPage, count, homes, other, epoch, dropped, joining, pull);
    }

    /** The same in the next epoch, with a home that joins. */
    public Extent join(ExtentHome fresh, PullState begins) {
        return new Extent(firstPage, count, homes, state, next(), dropped, Optional.of(fresh), Optional.of(begins));
    }

    /** The same in the same epoch, with a joining home that has come so far. */
    public Extent withPull(PullState now) {
        return new Extent(firstPage, count, homes, state, epoch, dropped, joining, Optional.of(now));
    }

    /**
     * The same in the next epoch. The home that joins has all pages, and is one of the homes from now on.
     *
     * @param replaced homes in whose place it is; their frames stay reserved until {@link #acknowledged}
     */
    public Extent promote(List<ExtentHome> replaced) {
        List<ExtentHome> now = new ArrayList<>(homes);
        now.removeAll(replaced);
        now.add(joining.orElseThrow());
        List<DroppedHome> former = new ArrayList<>(droppedHomes());
        replaced.forEach(home -> former.add(DroppedHome.of(home, epochNumber() + 1)));
        return new Extent(
                firstPage, count, now, state, next(), Optional.of(former), Optional.empty(), Optional.empty());
    }

    private OptionalLong next() {
        return OptionalLong.of(epochNumber() + 1);
    }

    /**
     * The same in the next epoch, without one of several homes or the one that joins. Its frames stay reserved until
     * {@link #acknowledged}.
     */
    public Extent drop(ExtentHome gone) {
        List<DroppedHome> former = new ArrayList<>(droppedHomes());
        former.add(DroppedHome.of(gone, epochNumber() + 1));
        return without(gone, Optional.of(former));
    }

    /**
     * The same in the next epoch, without one of several homes or the one that joins, whose memory is gone, and so has
     * no frames to reserve.
     */
    public Extent forget(ExtentHome gone) {
        return without(gone, dropped);
    }

    private Extent without(ExtentHome gone, Optional<List<DroppedHome>> former) {
        List<ExtentHome> rest =
                homes.stream().filter(home -> !home.equals(gone)).toList();
        Optional<ExtentHome> stillJoining = joining.filter(home -> !home.equals(gone));
        return new Extent(
                firstPage,
                count,
                rest,
                state,
                next(),
                former,
                stillJoining,
                pull.filter(_ -> stillJoining.isPresent()));
    }

    /** The same without the former homes that match. */
    public Extent acknowledged(Predicate<DroppedHome> which) {
        return new Extent(
                firstPage,
                count,
                homes,
                state,
                epoch,
                dropped.map(former -> former.stream().filter(which.negate()).toList()),
                joining,
                pull);
    }
}
