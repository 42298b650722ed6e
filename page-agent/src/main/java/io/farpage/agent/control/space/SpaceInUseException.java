package io.farpage.agent.control.space;

/** A space is in use on this node in a way that excludes the request. The message names the use. */
public final class SpaceInUseException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    SpaceInUseException(String message) {
        super(message);
    }
}
