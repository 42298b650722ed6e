package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Space;

/**
 * How much is left to copy until every extent has as many homes as its space was made with, none of them on a node that
 * is drained.
 */
public final class Backlog {

    private Backlog() {}

    /**
     * Bytes of the copies that are missing; what a home that joins has already counts as missing until the promotion.
     */
    public static long bytes(State state) {
        Draft view = new Draft(state);
        long bytes = 0;
        for (Space space : state.spaces().values()) {
            for (Extent extent : state.extentsOf(space)) {
                bytes += missing(view, space, extent) * extent.count() * space.pageSize();
            }
        }
        return bytes;
    }

    /** Homes that an extent is short of; 0 if its pages are lost. */
    static int missing(Draft view, Space space, Extent extent) {
        return extent.isAllocated() && extent.state() == ExtentState.OK
                ? Math.max(0, space.copies() - RepairPolicy.kept(view, extent).size())
                : 0;
    }

    /** Extents that a home joins and whose pages it copies itself now. */
    public static long pulled(State state) {
        Draft view = new Draft(state);
        return state.spaces().values().stream()
                .flatMap(space -> Pulls.of(view, space))
                .count();
    }

    /** Extents that a home joins. */
    public static long joining(State state) {
        return state.spaces().values().stream()
                .flatMap(space -> state.extentsOf(space).stream())
                .filter(extent -> extent.joining().isPresent())
                .count();
    }
}
