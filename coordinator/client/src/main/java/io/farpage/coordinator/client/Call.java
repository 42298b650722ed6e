package io.farpage.coordinator.client;

import org.jspecify.annotations.Nullable;

/**
 * A request without the coordinator that it is sent to.
 *
 * @param path with the query
 * @param body sent as JSON; null for none
 */
record Call(String method, String path, @Nullable Object body) {

    /** For messages. */
    String operation() {
        return method + " " + path;
    }

    /** Whether the coordinator may let the request wait for an event. */
    boolean isPoll() {
        return path.contains("wait=");
    }
}
