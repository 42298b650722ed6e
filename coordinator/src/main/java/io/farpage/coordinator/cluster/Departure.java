package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.Endpoint;
import io.farpage.coordinator.model.EventKind;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.Region;
import io.farpage.coordinator.model.Release;
import io.farpage.coordinator.model.Space;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** What goes with an incarnation: its endpoints in both directions, its regions, its releases, and what its pool held. */
final class Departure {

    private static final int RETIRED_KEPT = 64;

    private Departure() {}

    /** @param how the incarnation ended, for people */
    static void retireIncarnation(Draft draft, Attachments attachments, Node node, String how) {
        retire(draft, node, RETIRED_KEPT);
        // First, since no fence is needed where the pages are gone.
        for (Space space : draft.spaces.values()) {
            loseExtents(draft, space, node);
        }
        // Before releases, since a deletion that this completes leaves some.
        Fences.depart(draft, node);
        attachments.depart(draft, node, how);
        for (Endpoint endpoint : draft.endpoints.values()) {
            if (endpoint.node().equals(node.id()) || endpoint.peer().equals(node.id())) {
                draft.endpoints.remove(Links.key(endpoint.node(), endpoint.peer()));
            }
        }
        for (Region region : draft.regions.under(node.id() + "/")) {
            draft.regions.remove(Links.key(region.node(), region.name()));
        }
        for (Release release : draft.releases.under(node.id() + "/")) {
            draft.releases.remove(Spaces.releaseKey(node.id(), release.id()));
        }
    }

    private static void retire(Draft draft, Node node, int kept) {
        List<Incarnation> all = new ArrayList<>(
                draft.retired.find(node.id()).map(State.Retired::incarnations).orElse(List.of()));
        all.add(node.incarnation());
        draft.retired.put(node.id(), new State.Retired(all.subList(Math.max(0, all.size() - kept), all.size())));
    }

    private static void loseExtents(Draft draft, Space space, Node node) {
        String key = State.idKey(space.id());
        List<Extent> before = draft.extents.find(key).map(State.Extents::list).orElse(List.of());
        List<Extent> after = before.stream()
                .map(extent -> livesOn(extent, node) ? extent.withState(ExtentState.LOST) : extent)
                .toList();
        if (!after.equals(before)) {
            draft.extents.put(key, new State.Extents(after));
            draft.spaces.put(key, space.withState(ExtentState.LOST));
            draft.emit(EventKind.EXTENTS_LOST, Optional.of(node.id()), space);
        }
    }

    private static boolean livesOn(Extent extent, Node node) {
        return extent.state() == ExtentState.OK
                && extent.homes().stream()
                        .allMatch(home -> home.node().equals(node.id())
                                && home.incarnation().equals(node.incarnation()));
    }
}
