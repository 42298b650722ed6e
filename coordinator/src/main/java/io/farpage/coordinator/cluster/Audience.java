package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.Event;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;

/**
 * The nodes that an event concerns.
 *
 * @param everyone whether it concerns all of them
 * @param nodes that it concerns whatever they follow
 * @param about the node whose description changed: it concerns those that follow that node
 */
record Audience(boolean everyone, Set<String> nodes, Optional<String> about) {

    static final Audience EVERYONE = new Audience(true, Set.of(), Optional.empty());

    /** Copies the set. */
    Audience {
        nodes = Set.copyOf(nodes);
    }

    /**
     * The audience of an event. An event of a space concerns the nodes that host or have attached it.
     *
     * @param before the state before the change that the event reports
     * @param after the state with that change
     */
    static Audience of(Event event, State before, State after) {
        return switch (event.kind()) {
            case CLUSTER_FORMED, CLUSTER_DISSOLVED, NODE_FAILED, NODE_REMOVED, SPACE_DELETED, UNKNOWN -> EVERYONE;
            case NODE_REGISTERED, NODE_CHANGED, NODE_REVIVED -> new Audience(false, Set.of(), event.node());
            case ENDPOINT_PUBLISHED, ENDPOINT_WITHDRAWN, GRANT_PUBLISHED -> only(event.peer());
            case RELEASES_PENDING, FENCES_CHANGED, ATTACHMENTS_CHANGED, DRAIN_CHANGED, NODE_DRAINED ->
                only(event.node());
            case SPACE_CREATED,
                    SPACE_DELETING,
                    SPACE_TORN,
                    SPACE_SEALED,
                    SPACE_ALLOWED,
                    SNAPSHOT_MADE,
                    SPACE_TAKEN_OVER,
                    EXTENTS_LOST,
                    EXTENTS_REPAIRED,
                    GUEST_ADOPTED,
                    GUEST_PARKED,
                    GUEST_UNPARKED,
                    HOMES_CHANGED -> ofSpace(event, before, after);
        };
    }

    private static Audience only(Optional<String> node) {
        return new Audience(false, node.map(Set::of).orElse(Set.of()), Optional.empty());
    }

    private static Audience ofSpace(Event event, State before, State after) {
        if (event.spaceId().isEmpty()) {
            return EVERYONE;
        }
        Set<String> nodes = new HashSet<>();
        event.node().ifPresent(nodes::add);
        event.peer().ifPresent(nodes::add);
        String key = Keys.id(event.spaceId().getAsLong());
        addOf(before, key, nodes);
        addOf(after, key, nodes);
        return new Audience(false, nodes, Optional.empty());
    }

    private static void addOf(State state, String key, Set<String> nodes) {
        for (Attachment attachment : Keys.under(state.attachments(), key).values()) {
            nodes.add(attachment.node());
        }
        Optional.ofNullable(state.extents().get(key)).ifPresent(extents -> {
            for (Extent extent : extents.list()) {
                extent.places().map(ExtentHome::node).forEach(nodes::add);
                extent.joining().map(ExtentHome::node).ifPresent(nodes::add);
            }
        });
    }
}
