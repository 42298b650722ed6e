package io.farpage.agent.data.coherence;

/**
 * A node that uses a coherent space.
 *
 * @param node its id
 * @param incarnation of the node
 * @param attachment id of its attachment to the space; another attachment of the node is another member
 */
public record MemberId(String node, long incarnation, long attachment) {}
