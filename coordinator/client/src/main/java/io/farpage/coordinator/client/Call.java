package io.farpage.coordinator.client;

import io.farpage.rest.Operation;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A request without the coordinator that it is sent to.
 *
 * @param path with the query
 * @param body sent as JSON; null for none
 * @param key with which the coordinator carries the request out once, however often it is sent
 */
record Call(String method, String path, @Nullable Object body, Optional<String> key) {

    /** A request for an operation; with a key of its own if the coordinator carries such requests out once. */
    Call(Operation.Target<?, ?> to, @Nullable Object body) {
        this(
                to.operation().method().name(),
                to.path(),
                body,
                to.operation().isIdempotent() ? Optional.of(UUID.randomUUID().toString()) : Optional.empty());
    }

    /** For messages. */
    String operation() {
        return method + " " + path;
    }

    /** Whether the coordinator may let the request wait for an event. */
    boolean isPoll() {
        return path.contains("wait=");
    }
}
