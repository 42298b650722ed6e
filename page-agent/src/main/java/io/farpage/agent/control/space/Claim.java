package io.farpage.agent.control.space;

/**
 * What an exclusive use asks for beyond the space itself.
 *
 * @param force whether to use a torn space
 * @param takeover whether the homes cut off nodes that are attached to the space and have failed
 */
public record Claim(boolean force, boolean takeover) {
    /** Takes a whole space that no other node is attached to. */
    public static final Claim PLAIN = new Claim(false, false);
}
