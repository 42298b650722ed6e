package io.farpage.agent.control.guest;

import io.farpage.agent.control.space.SpaceUse;
import io.farpage.agent.data.pager.home.SpaceMap;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * Where the pages of a clone are: those of extents that it has homes for at these, the others at the homes of its
 * snapshot. Once the clone is deleted or taken over all are lost. Thread-safe; a call allocates nothing unless a map has
 * changed.
 */
final class CloneMap implements Supplier<SpaceMap> {
    private final SpaceUse use;
    private final SpaceUse snapshot;
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

    private CloneMap(SpaceUse use, SpaceUse snapshot) {
        this.use = use;
        this.snapshot = snapshot;
        latest = Known.of(use.isRevoked(), use.map(), snapshot.map());
    }

    /**
     * The map of a space.
     *
     * @param snapshot the use of the one that it is a clone of
     */
    static Supplier<SpaceMap> of(SpaceUse use, Optional<SpaceUse> snapshot) {
        return snapshot.<Supplier<SpaceMap>>map(base -> new CloneMap(use, base)).orElse(use::map);
    }

    @Override
    public SpaceMap get() {
        // First, since the map of a use that is revoked has changed before.
        boolean isRevoked = use.isRevoked();
        SpaceMap own = use.map();
        SpaceMap base = snapshot.map();
        Known known = latest;
        if (!known.isOf(isRevoked, own, base)) {
            known = Known.of(isRevoked, own, base);
            latest = known;
        }
        return known.both();
    }
}
