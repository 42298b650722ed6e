package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Repair;
import io.farpage.coordinator.model.Space;
import java.util.List;

/** How far single spaces are from having all their homes. Thread-safe. */
public final class SpaceRepairs {

    private final Ledger ledger;
    private final Copies copies;

    /** Looks at a ledger. */
    public SpaceRepairs(Ledger ledger, Copies copies) {
        this.ledger = ledger;
        this.copies = copies;
    }

    /** How far a space is, by its id or name. */
    public Repair of(String idOrName) {
        State state = ledger.state();
        Space space = Spaces.require(state, idOrName);
        Draft view = new Draft(state);
        List<Extent> extents = state.extentsOf(space);
        List<Extent> incomplete = extents.stream()
                .filter(extent -> Backlog.missing(view, space, extent) > 0)
                .toList();
        long bytes = 0;
        long copied = 0;
        for (Extent extent : incomplete) {
            bytes += Backlog.missing(view, space, extent) * extent.count() * space.pageSize();
            copied += copies.copied(view, space, extent);
        }
        long lost = extents.stream()
                .filter(extent -> extent.state() == ExtentState.LOST)
                .count();
        return new Repair(
                space.id(),
                incomplete.isEmpty() && lost == 0,
                bytes,
                copied,
                lost,
                incomplete.isEmpty()
                        ? List.of()
                        : List.of(
                                "%d extents: %s".formatted(incomplete.size(), Drains.reason(view, space, incomplete))));
    }
}
