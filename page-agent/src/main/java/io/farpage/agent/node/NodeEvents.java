package io.farpage.agent.node;

import io.farpage.agent.control.link.LinkControl;
import io.farpage.agent.control.member.EventWatch;
import io.farpage.agent.control.member.Hosting;
import io.farpage.agent.control.seal.SealSweep;
import io.farpage.agent.control.space.Spaces;
import io.farpage.coordinator.model.Event;
import java.util.Optional;

/** Reads again what an event of the coordinator concerns. */
final class NodeEvents implements EventWatch.Listener {
    private final String node;
    private final LinkControl links;
    private final Hosting hosting;
    private final Spaces spaces;
    private final Optional<SealSweep> seals;

    NodeEvents(String node, LinkControl links, Hosting hosting, Spaces spaces, Optional<SealSweep> seals) {
        this.node = node;
        this.links = links;
        this.hosting = hosting;
        this.spaces = spaces;
        this.seals = seals;
    }

    @Override
    public void event(Event event) {
        switch (event.kind()) {
            case NODE_REGISTERED, NODE_CHANGED, NODE_FAILED, NODE_REVIVED, NODE_REMOVED ->
                event.node().ifPresent(links::nodeChanged);
            case ENDPOINT_PUBLISHED, ENDPOINT_WITHDRAWN -> {
                if (event.peer().filter(node::equals).isPresent()) {
                    event.node().ifPresent(links::offerChanged);
                }
            }
            case SPACE_DELETING, SPACE_DELETED -> {
                if (hosting.mayHold(event.spaceId())) {
                    hosting.refresh();
                }
                event.spaceId().ifPresent(spaces::changed);
                seals.ifPresent(SealSweep::refresh);
            }
            case EXTENTS_LOST, HOMES_CHANGED, SPACE_ALLOWED -> {
                hosting.refresh();
                event.spaceId().ifPresent(spaces::changed);
            }
            case SPACE_TAKEN_OVER -> ifOfThisNode(event, spaces::refresh);
            case RELEASES_PENDING, FENCES_CHANGED, ATTACHMENTS_CHANGED -> ifOfThisNode(event, hosting::refresh);
            case GRANT_PUBLISHED -> event.peer().filter(node::equals).ifPresent(_ -> spaces.refresh());
            case SPACE_CREATED, SPACE_TORN, SPACE_SEALED, SNAPSHOT_MADE -> hosting.refresh();
            case CLUSTER_FORMED,
                    CLUSTER_DISSOLVED,
                    EXTENTS_REPAIRED,
                    DRAIN_CHANGED,
                    NODE_DRAINED,
                    GUEST_ADOPTED,
                    GUEST_PARKED,
                    GUEST_UNPARKED,
                    UNKNOWN -> {}
        }
    }

    private void ifOfThisNode(Event event, Runnable task) {
        if (event.node().filter(node::equals).isPresent()) {
            task.run();
        }
    }

    @Override
    public void resync() {
        links.resync();
        spaces.refresh();
        hosting.refresh();
        seals.ifPresent(SealSweep::refresh);
    }
}
