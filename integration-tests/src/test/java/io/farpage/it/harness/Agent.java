package io.farpage.it.harness;

import java.nio.file.Path;

/** A page agent: one start of it, and so one incarnation. It runs in this JVM or is a process of its own. */
public interface Agent extends AutoCloseable {
    /** The id of its node. */
    String node();

    /** Its REST interface; over TLS the node's own certificate is shown. */
    Rest rest();

    /** The Unix socket of its REST interface. */
    Path socket();

    /** Reads a page. */
    default Answer page(String space, long page) {
        return rest().get("/api/v1/spaces/" + space + "/pages/" + page);
    }

    /** Writes a page. */
    default Answer putPage(String space, long page, byte[] data) {
        return rest().send("PUT", "/api/v1/spaces/" + space + "/pages/" + page, "application/octet-stream", data);
    }

    /** Whether its link to a peer is up. */
    default boolean isLinkedTo(String peer) {
        for (var link : rest().get("/api/v1/links").expect(200).json()) {
            if (link.get("peer").asString().equals(peer)) {
                return link.get("state").asString().equals("up");
            }
        }
        return false;
    }

    /** Ends it as a service manager does: it deregisters. Waits for the end. */
    void stop();

    @Override
    void close();
}
