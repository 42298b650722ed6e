package io.farpage.agent.control.space;

import io.farpage.agent.data.pager.page.PresenceMap;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.client.CoordinatorRefusedException;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentEpoch;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceExtents;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Room for the pages of thin spaces and clones, which the coordinator gives by extents. Pagers want it before they
 * write to an extent first; while there is none, what a guest writes there stays in its memory. That of a clone is
 * filled with the pages of its snapshot first. The room of an extent of another space is given back whose pages are all
 * zeros. Thread-safe.
 */
final class Allocations {
    private static final Logger log = LoggerFactory.getLogger(Allocations.class);
    /** How long room is not asked for again when there was none. */
    private static final Duration PAUSE = Duration.ofSeconds(1);

    private static final int NO_ROOM = 507;

    private final SpaceRequests requests;
    private final BiConsumer<AttachedSpace, SpaceExtents> use;
    private final Runnable refresh;

    /**
     * @param use hands extents of a space to its pagers
     * @param refresh has the document asked for, which has the keys of new homes
     */
    Allocations(SpaceRequests requests, BiConsumer<AttachedSpace, SpaceExtents> use, Runnable refresh) {
        this.requests = requests;
        this.use = use;
        this.refresh = refresh;
    }

    /** Requests room for the extent of a page, unless the extent has room, and waits for the answer. */
    void allocate(AttachedSpace space, long page) throws CoordinatorException {
        synchronized (space.allocating()) {
            Extent extent = space.extentOf(page);
            if (extent.isAllocated()) {
                return;
            }
            try {
                use(space, requests.allocate(space.id(), List.of(ExtentEpoch.of(extent))));
            } catch (CoordinatorRefusedException e) {
                requests.extents(space.id()).ifPresent(now -> use(space, now));
                if (!space.extentOf(page).isAllocated()) {
                    throw e;
                }
            }
        }
    }

    private void use(AttachedSpace space, SpaceExtents now) {
        use.accept(space, now);
        refresh.run();
    }

    /** Gives the room of extents back whose pages are all zeros in a map. No pager uses the space. */
    void deallocate(AttachedSpace space, PresenceMap homes) throws CoordinatorException {
        Space of = space.extents().space();
        if (!of.isThin() || of.base().isPresent()) {
            return;
        }
        List<ExtentEpoch> zeros = space.extents().extents().stream()
                .filter(Extent::isAllocated)
                .filter(extent -> extent.firstPage() < homes.pages() && areZeros(homes, extent))
                .map(ExtentEpoch::of)
                .toList();
        if (!zeros.isEmpty()) {
            deallocate(space, zeros);
            log.info("space {}: {} extents without a page have given their room back", space.name(), zeros.size());
        }
    }

    /** Gives the room of extents back in these epochs, in which no transfer reaches them. */
    void deallocate(AttachedSpace space, List<ExtentEpoch> extents) throws CoordinatorException {
        use.accept(space, requests.deallocate(space.id(), extents));
    }

    private static boolean areZeros(PresenceMap homes, Extent extent) {
        long end = Math.min(homes.pages(), extent.firstPage() + extent.count());
        int first = (int) extent.firstPage();
        return homes.get(first) == PresenceMap.ZERO && homes.endOfRun(first) >= end;
    }

    /** Asks for the room that pagers of a space want. The thread of {@link Spaces}. */
    void settle(AttachedSpace space, Collection<Drops.Writer> writers, Errands errands) {
        if (space.wasRefusedWithin(PAUSE)) {
            return;
        }
        List<ExtentEpoch> wanted =
                wanted(space.extents(), extent -> writers.stream().anyMatch(one -> one.wants(extent)));
        if (!wanted.isEmpty()) {
            errands.begin("allocation of space %d".formatted(space.id()), () -> ask(space, writers, wanted));
        }
    }

    private static List<ExtentEpoch> wanted(SpaceExtents of, Predicate<ExtentEpoch> isWanted) {
        return of.extents().stream()
                .filter(extent -> !extent.isAllocated() && extent.joining().isEmpty())
                .map(ExtentEpoch::of)
                .filter(isWanted)
                .toList();
    }

    private void ask(AttachedSpace space, Collection<Drops.Writer> writers, List<ExtentEpoch> wanted)
            throws CoordinatorException {
        try {
            use(space, requests.allocate(space.id(), wanted));
            boolean isRoomLeft = wanted(space.extents(), wanted::contains).isEmpty();
            writers.forEach(one -> one.roomless(!isRoomLeft));
            if (isRoomLeft) {
                space.roomGranted();
            } else {
                refused(space, "there is room for some of them alone");
            }
        } catch (CoordinatorException e) {
            if (e instanceof CoordinatorRefusedException why && why.problem().status() != NO_ROOM) {
                refresh.run();
            } else {
                writers.forEach(one -> one.roomless(true));
                refused(space, String.valueOf(e.getMessage()));
            }
            throw e;
        }
    }

    private void refused(AttachedSpace space, String why) {
        boolean isNew = !space.isRoomless();
        space.roomRefused();
        if (isNew) {
            log.error(
                    "space {}: pages that its guest has written get no room at homes, and stay in its memory, above its"
                            + " limit: {}",
                    space.name(),
                    why);
        }
    }
}
