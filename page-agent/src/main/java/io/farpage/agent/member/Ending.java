package io.farpage.agent.member;

/** Why an agent must end although nobody asked it to. */
public sealed interface Ending {
    /** One line for people. */
    String reason();

    /** Another agent runs under this node's id: this one ends for good. */
    record Superseded(String reason) implements Ending {}

    /**
     * The coordinator has lost what it knew of this node. It would give out memory that still holds pages of spaces it has forgotten, so
     * this incarnation ends; another, whose memory is empty, may take its place.
     */
    record Forgotten(String reason) implements Ending {}
}
