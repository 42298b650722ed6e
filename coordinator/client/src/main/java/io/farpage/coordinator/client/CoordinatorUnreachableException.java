package io.farpage.coordinator.client;

import java.net.URI;

/**
 * No valid answer came in time: nothing listens, the deadline passed, the connection broke, or another program than a
 * coordinator answers. Whether the call took effect is unknown. The caller may repeat the call, since all operations
 * that agents use are idempotent.
 */
public final class CoordinatorUnreachableException extends CoordinatorException {

    private static final long serialVersionUID = 1L;

    private CoordinatorUnreachableException(String message, Throwable cause) {
        super(message, cause);
    }

    /** @param message which call got no answer, and why */
    public CoordinatorUnreachableException(String message) {
        super(message);
    }

    /** @param reason why there is no answer from the coordinator that was called */
    static CoordinatorUnreachableException of(URI coordinator, Call call, String reason) {
        return new CoordinatorUnreachableException(message(coordinator, call, reason));
    }

    static CoordinatorUnreachableException of(URI coordinator, Call call, String reason, Throwable cause) {
        return new CoordinatorUnreachableException(message(coordinator, call, reason), cause);
    }

    private static String message(URI coordinator, Call call, String reason) {
        return "coordinator at %s not reached (%s): %s".formatted(coordinator, call.operation(), reason);
    }
}
