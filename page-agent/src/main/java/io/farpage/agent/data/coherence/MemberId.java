package io.farpage.agent.data.coherence;

/**
 * A node that uses a coherent space.
 *
 * @param node id of the node
 * @param incarnation of the node, as the coordinator has it
 * @param attachment of the node to the space
 */
public record MemberId(String node, long incarnation, long attachment) {}
