package io.farpage.agent.data.coherence;

/**
 * A node that uses a coherent space.
 *
 * @param node id of the node
 * @param incarnation of the node, as the coordinator has it
 * @param attachment of the node to the space
 */
public record MemberId(String node, long incarnation, long attachment) {
    /** Whether another incarnation of the node has adopted the guest, and has its attachment. */
    boolean isSucceededBy(MemberId other) {
        return node.equals(other.node) && attachment == other.attachment && incarnation != other.incarnation;
    }
}
