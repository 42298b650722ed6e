package io.farpage.agent.control.link;

/** Which links a node brings up. */
public enum LinkMode {
    /** To every other active node. */
    MESH,
    /** To a node that the pages of an attached space need, that offers a link, or that is asked for. */
    DEMAND
}
