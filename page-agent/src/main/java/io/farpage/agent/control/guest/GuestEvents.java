package io.farpage.agent.control.guest;

import io.farpage.agent.control.page.SpacePresence;
import io.farpage.agent.control.space.SpaceUse;
import io.farpage.agent.control.space.Spaces;
import io.farpage.agent.data.pager.PagerEnd;
import io.farpage.agent.data.pager.home.SpaceMap;
import io.farpage.agent.data.pager.page.PresenceMap;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.HeatReport;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Passes what happens to all guests on: to the watch, to the coordinator, and to what a later guest of the same space
 * needs. Thread-safe.
 */
final class GuestEvents implements Guest.Listener {
    private static final Logger log = LoggerFactory.getLogger(GuestEvents.class);

    private final CoordinatorClient coordinator;
    private final Spaces spaces;
    private final SpacePresence presence;
    private volatile GuestWatch watch = GuestWatch.NONE;

    /** @param presence keeps which pages a guest has left */
    GuestEvents(CoordinatorClient coordinator, Spaces spaces, SpacePresence presence) {
        this.coordinator = coordinator;
        this.spaces = spaces;
        this.presence = presence;
    }

    /** Sets the watch, which receives all events from now on. */
    void watch(GuestWatch next) {
        watch = next;
    }

    /** A guest that an earlier process has served is served, or the reason why it is not. */
    void adopted(String space, int pid, Optional<String> refusal) {
        watch.adopted(space, pid, refusal);
    }

    @Override
    public void handoff(SpaceMap map, HandoffPeer peer, Optional<String> refusal) {
        watch.handoff(map.name(), peer, refusal);
    }

    @Override
    public void parked(SpaceMap map) {
        watch.parked(map.name());
    }

    @Override
    public void unparked(SpaceMap map) {
        watch.unparked(map.name());
    }

    @Override
    public void ended(SpaceMap map, PagerEnd end) {
        watch.ended(map.name(), end.reason(), end.saved());
    }

    @Override
    public void heat(SpaceMap map, HeatReport heat) {
        try {
            coordinator.reportHeat(Long.toString(map.id()), heat);
        } catch (CoordinatorException e) {
            log.debug("the heat of space {} is not reported: {}", map.name(), e.toString());
        }
    }

    @Override
    public void left(SpaceUse use, PresenceMap map) {
        // A clone without pages of its own has the presence map of its snapshot.
        boolean hasPages = use.base().isEmpty() || use.map().isAnyAllocated();
        if (!use.isRevoked() && hasPages) {
            presence.write(use, map).ifPresent(mark -> use.presence(Optional.of(mark)));
            giveRoomBack(use, map);
        }
    }

    /** What cannot be given back now is when another guest has left the space. */
    private static void giveRoomBack(SpaceUse use, PresenceMap map) {
        try {
            use.deallocate(map);
        } catch (CoordinatorException e) {
            log.warn(
                    "space {}: room of pages of zeros is not given back: {}",
                    use.map().name(),
                    e.getMessage());
        }
    }

    @Override
    public void released(SpaceMap map) {
        spaces.detachWhenUnused(map.id());
    }
}
