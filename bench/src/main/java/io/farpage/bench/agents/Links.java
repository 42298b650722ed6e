package io.farpage.bench.agents;

/** Which links agents make. */
public enum Links {
    /** With every other node: each agent follows all nodes, and is told of all events. */
    MESH,
    /** With the nodes that it works with: it follows those, and is told of what concerns it. */
    DEMAND
}
