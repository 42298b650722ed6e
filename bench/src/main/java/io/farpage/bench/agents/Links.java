package io.farpage.bench.agents;

/** Which links agents make. */
public enum Links {
    /** With every other node: each agent follows all nodes and receives all events. */
    MESH,
    /** With the nodes that an agent works with: it follows them and receives the events that concern it. */
    DEMAND
}
