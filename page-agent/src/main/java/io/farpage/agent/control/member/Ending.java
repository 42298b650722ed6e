package io.farpage.agent.control.member;

/** Why an agent must end although no user asked for it. */
public sealed interface Ending {
    /** Another agent runs under this node's id: this one ends for good. */
    record Superseded(String reason) implements Ending {}

    /**
     * The coordinator, which knows all that this agent has seen, has removed the node: the contents of its pool count
     * as lost. This incarnation ends; another, with an empty pool, may follow.
     */
    record Forgotten(String reason) implements Ending {}

    /**
     * A standby goes on with the pool and the guests, which are at the keeper: this process ends at once and leaves the
     * cluster as it is.
     */
    record HandedOver(String reason) implements Ending {}
}
