package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;
import java.util.stream.Collectors;

/**
 * A space with all its extents, as of one revision.
 *
 * @param space which
 * @param revision of the state that this was read from: of two, the one of the higher revision is the later one
 * @param extents in the order of their pages, without gaps
 */
public record SpaceExtents(
        @JsonProperty(required = true) Space space,
        @JsonProperty(required = true) long revision,
        @JsonProperty(required = true) List<Extent> extents) {

    /** Copies the extents. */
    public SpaceExtents {
        extents = List.copyOf(extents);
    }

    /** Whether an extent has fewer homes than the space was made with. */
    public boolean isDegraded(Extent extent) {
        return extent.isShortOf(space.copies());
    }

    /** Bytes of the pages that have room at their homes, each counted once. */
    public long allocatedBytes() {
        return extents.stream()
                        .filter(Extent::isAllocated)
                        .mapToLong(Extent::count)
                        .sum()
                * space.pageSize();
    }

    /** Whether a home joins an extent, or was dropped and is not acknowledged. */
    public boolean isMoving() {
        return extents.stream()
                .anyMatch(extent ->
                        extent.joining().isPresent() || !extent.droppedHomes().isEmpty());
    }

    /** An extent for people: its pages, and the state of each home. */
    public String describe(Extent extent) {
        String homes = extent.isAllocated()
                ? extent.homes().stream()
                        .map(home -> home.node() + (extent.state() == ExtentState.LOST ? " lost" : " in sync"))
                        .collect(Collectors.joining(", "))
                : "not allocated";
        String joining =
                extent.joining().map(home -> ", " + home.node() + " joining").orElse("");
        String dropped = extent.droppedHomes().stream()
                .map(former -> ", %s dropped in epoch %d".formatted(former.node(), former.epoch()))
                .collect(Collectors.joining());
        return "  pages %d to %d, epoch %d%s: %s%s%s"
                .formatted(
                        extent.firstPage(),
                        extent.firstPage() + extent.count() - 1,
                        extent.epochNumber(),
                        isDegraded(extent) ? ", degraded" : "",
                        homes,
                        joining,
                        dropped);
    }
}
