package io.farpage.agent.control.guest;

import io.farpage.agent.control.seal.SpaceSeal;
import io.farpage.agent.data.pager.page.PresenceMap;
import java.util.Optional;

/**
 * What earlier guests have left of a space.
 *
 * @param written whether the space may hold data
 * @param presence which pages the homes have, and which of them to prefetch
 * @param seal of an encrypted space; empty if the homes may read the pages
 */
record SpacePast(boolean written, PresenceMap presence, Optional<SpaceSeal> seal) {
    /** The same as a presence map says. If the space is sealed, its seal knows better which pages are zeros. */
    SpacePast as(PresenceMap map) {
        return seal.isPresent()
                ? new SpacePast(written, map.asWishes(), seal)
                : new SpacePast(map.isAnyPresent(), map, seal);
    }
}
