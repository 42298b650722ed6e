package io.farpage.agent.control.keeper;

/** An agent that is to be kept cannot start as it is configured. The message names the fix. */
public final class KeeperException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    KeeperException(String message) {
        super(message);
    }

    KeeperException(String message, Throwable cause) {
        super(message, cause);
    }
}
