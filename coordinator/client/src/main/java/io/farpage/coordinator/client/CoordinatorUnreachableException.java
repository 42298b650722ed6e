package io.farpage.coordinator.client;

/**
 * No answer that makes sense came in time: nothing listens, the deadline passed, the connection broke, or it is no coordinator that
 * answers. Whether the call took effect is unknown; trying again later is right, since all operations that agents use are idempotent.
 */
public final class CoordinatorUnreachableException extends CoordinatorException {

    private static final long serialVersionUID = 1L;

    CoordinatorUnreachableException(String message, Throwable cause) {
        super(message, cause);
    }

    CoordinatorUnreachableException(String message) {
        super(message);
    }
}
