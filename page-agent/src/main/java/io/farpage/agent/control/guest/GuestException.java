package io.farpage.agent.control.guest;

/** A guest cannot be attached, resized or detached as asked. The message says why, and what to do. */
public final class GuestException extends Exception {
    private static final long serialVersionUID = 1L;

    /** The reason of a refusal. */
    public enum Obstacle {
        /** The guest or space does not exist. */
        NOT_FOUND,
        /** The request is invalid whatever the state of the agent. */
        INVALID,
        /** The request conflicts with the present state. */
        CONFLICT,
        /** The coordinator does not let this node do so. */
        FORBIDDEN
    }

    private final Obstacle obstacle;

    public GuestException(Obstacle obstacle, String message) {
        super(message);
        this.obstacle = obstacle;
    }

    public Obstacle obstacle() {
        return obstacle;
    }
}
