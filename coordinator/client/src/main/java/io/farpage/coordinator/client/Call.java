package io.farpage.coordinator.client;

import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A request without the coordinator that it is sent to.
 *
 * @param path with the query
 * @param body sent as JSON; null for none
 * @param key with which the coordinator carries the request out once, however often it is sent
 */
record Call(String method, String path, @Nullable Object body, Optional<String> key) {

    /** A request without a key. */
    Call(String method, String path, @Nullable Object body) {
        this(method, path, body, Optional.empty());
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
