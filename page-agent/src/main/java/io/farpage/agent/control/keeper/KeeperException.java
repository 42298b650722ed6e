package io.farpage.agent.control.keeper;

/** An agent whose memory is kept cannot start with its configuration. The message names the fix. */
public final class KeeperException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    KeeperException(String message) {
        super(message);
    }

    KeeperException(String message, Throwable cause) {
        super(message, cause);
    }
}
