package io.farpage.agent.control.member;

/** Why an agent must end without having been asked to. */
public sealed interface Ending {
    /** One line for people. */
    String reason();

    /** Another agent runs under this node's id: this one ends for good. */
    record Superseded(String reason) implements Ending {}

    /**
     * The coordinator, which knows all that this agent has seen, has removed the node: what its pool holds counts as lost. This incarnation
     * ends; another, whose memory is empty, may take its place.
     */
    record Forgotten(String reason) implements Ending {}
}
