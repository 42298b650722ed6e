package io.farpage.agent.control.space;

import io.farpage.agent.data.pager.home.SpaceMap;
import java.util.function.Supplier;

/**
 * Where the pages of a clone are: those of extents that it has homes for at these, the others where its snapshot has
 * them. Once the clone is deleted or taken over all are lost. Thread-safe; a call allocates nothing unless a map has
 * changed.
 */
final class CloneMap implements Supplier<SpaceMap> {
    private final AttachedSpace clone;
    private final Supplier<SpaceMap> snapshot;
    private volatile Known latest;

    /** The map made of two others. */
    private record Known(boolean isRevoked, SpaceMap own, SpaceMap base, SpaceMap both) {
        static Known of(boolean isRevoked, SpaceMap own, SpaceMap base) {
            SpaceMap both = own.over(base);
            return new Known(isRevoked, own, base, isRevoked ? both.lost() : both);
        }

        @SuppressWarnings("ReferenceEquality") // a map is immutable, and another one is of another revision
        boolean isOf(boolean revoked, SpaceMap itsOwn, SpaceMap itsBase) {
            return isRevoked == revoked && own == itsOwn && base == itsBase;
        }
    }

    CloneMap(AttachedSpace clone, Supplier<SpaceMap> snapshot) {
        this.clone = clone;
        this.snapshot = snapshot;
        latest = Known.of(clone.revocation().isPresent(), clone.map(), snapshot.get());
    }

    @Override
    public SpaceMap get() {
        // First, since the map of a use that is revoked has changed before.
        boolean isRevoked = clone.revocation().isPresent();
        SpaceMap own = clone.map();
        SpaceMap base = snapshot.get();
        Known known = latest;
        if (!known.isOf(isRevoked, own, base)) {
            known = Known.of(isRevoked, own, base);
            latest = known;
        }
        return known.both();
    }
}
