package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.EventKind;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.Space;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** The end of a space that is being deleted: its rows go, and its homes zero the frames. */
final class Deletion {
    private Deletion() {}

    /** Removes a space that is being deleted if no node is attached to it. */
    static void finish(Draft draft, Space space) {
        String key = Keys.id(space.id());
        boolean deleting = draft.spaces.find(key).filter(Space::deleting).isPresent();
        if (!deleting || !draft.attachedTo(space).isEmpty()) {
            return;
        }
        Set<String> homes = new LinkedHashSet<>();
        for (Extent extent : draft.extents.of(space)) {
            homes.addAll(release(draft, space, extent));
        }
        draft.spaces.remove(key);
        draft.extents.remove(space);
        draft.emit(EventKind.SPACE_DELETED, Optional.empty(), space);
        homes.forEach(home -> draft.emit(EventKind.RELEASES_PENDING, home));
    }

    private static List<String> release(Draft draft, Space space, Extent extent) {
        List<String> nodes = new ArrayList<>();
        extent.places()
                .forEach(place -> draft.release(space, extent, place, true).ifPresent(nodes::add));
        return nodes;
    }
}
