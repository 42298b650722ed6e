package io.farpage.agent.control.space;

import io.farpage.agent.data.pager.home.SpaceMap;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Where the pages of a space are. Those of a clone are at homes of its own, or where its snapshot has them. A snapshot
 * that was made of a guest comes below its space: until both maps are known, the map before is right, since the pages
 * are where they were. Once the space is deleted or taken over all are lost. Thread-safe; a call allocates nothing
 * unless a map has changed.
 */
final class LayeredMap implements Supplier<SpaceMap> {
    private final AttachedSpace space;
    private final Supplier<Optional<SpaceUse>> snapshot;
    private volatile Latest latest;

    /** The map made of two others. */
    private record Latest(
            boolean isRevoked,
            AttachedSpace.Known own,
            @Nullable SpaceMap base,
            SpaceMap map) {
        @SuppressWarnings("ReferenceEquality") // both are immutable, and another one is of another revision
        boolean isOf(boolean revoked, AttachedSpace.Known itsOwn, @Nullable SpaceMap itsBase) {
            return isRevoked == revoked && own == itsOwn && base == itsBase;
        }
    }

    /** @param snapshot the use of the snapshot below, which is known if the space is a clone now */
    LayeredMap(AttachedSpace space, Supplier<Optional<SpaceUse>> snapshot) {
        this.space = space;
        this.snapshot = snapshot;
        AttachedSpace.Known own = space.known();
        SpaceMap base = snapshot.get().map(SpaceUse::map).orElse(null);
        latest = new Latest(
                false, own, base, base == null ? own.map() : own.map().over(base));
    }

    @Override
    public SpaceMap get() {
        // First, since the map of a use that is revoked has changed before.
        boolean isRevoked = space.revocation().isPresent();
        AttachedSpace.Known own = space.known();
        Optional<SpaceUse> below = snapshot.get();
        SpaceMap base = below.isPresent() ? below.get().map() : null;
        Latest known = latest;
        if (!known.isOf(isRevoked, own, base)) {
            SpaceMap map = map(own, base).orElse(known.map());
            known = new Latest(isRevoked, own, base, isRevoked ? map.lost() : map);
            latest = known;
        }
        return known.map();
    }

    /** Empty while the space has another snapshot below than the one in use. */
    private static Optional<SpaceMap> map(AttachedSpace.Known own, @Nullable SpaceMap base) {
        OptionalLong id = own.base();
        if (id.isEmpty()) {
            return Optional.of(own.map());
        }
        return base != null && base.id() == id.getAsLong()
                ? Optional.of(own.map().over(base))
                : Optional.empty();
    }
}
