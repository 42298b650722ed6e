package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * An incarnation of a node that a home must cut off, so that WRITEs of that incarnation no longer arrive. The home
 * destroys all its queue pairs with it, makes no link to it, and names it in its {@link HostedAck}. Until then the
 * attachment that the incarnation had stays, and the space waits.
 *
 * @param home the node that cuts off
 * @param homeIncarnation the incarnation of the home, whose pool holds pages of the space
 * @param space id of the space
 * @param node whose incarnation is cut off
 * @param incarnation which is cut off
 * @param acknowledged whether the home has done it; such a fence stays while the incarnation may come back, and ends
 *     when it detaches
 */
public record Fence(
        @JsonProperty(required = true) String home,
        @JsonProperty(required = true) Incarnation homeIncarnation,
        @JsonProperty(required = true) long space,
        @JsonProperty(required = true) String node,
        @JsonProperty(required = true) Incarnation incarnation,
        @JsonProperty(required = true) boolean acknowledged) {

    /** The same, acknowledged or not. */
    public Fence withAcknowledged(boolean done) {
        return new Fence(home, homeIncarnation, space, node, incarnation, done);
    }

    /** Whether it cuts off that incarnation of that node. */
    public boolean isOf(String otherNode, Incarnation otherIncarnation) {
        return node.equals(otherNode) && incarnation.equals(otherIncarnation);
    }
}
