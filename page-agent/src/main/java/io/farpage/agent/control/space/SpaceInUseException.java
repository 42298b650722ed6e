package io.farpage.agent.control.space;

/** A space is in use on this node in a way that excludes what was asked for. The message names it. */
public final class SpaceInUseException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    SpaceInUseException(String message) {
        super(message);
    }
}
