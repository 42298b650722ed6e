package io.farpage.agent.control.page;

import io.farpage.agent.data.shard.PeerLink;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A request to read or write a page, and its result. */
final class PageRequest {
    /** Where a page lives: two requests for the same place must not be under way together. */
    record Place(String node, long incarnation, long offset) {}

    private final PeerLink home;
    private final Place place;
    private final int length;
    private final byte @Nullable [] data;
    private final CompletableFuture<byte[]> result = new CompletableFuture<>();

    /** @param data what to write; null to read */
    PageRequest(PeerLink home, Place place, int length, byte @Nullable [] data) {
        this.home = home;
        this.place = place;
        this.length = length;
        this.data = data;
    }

    PeerLink home() {
        return home;
    }

    Place place() {
        return place;
    }

    int length() {
        return length;
    }

    byte @Nullable [] data() {
        return data;
    }

    boolean isWrite() {
        return data != null;
    }

    /** The page that was read, or an empty array after a write. */
    CompletableFuture<byte[]> result() {
        return result;
    }

    @Override
    public String toString() {
        return (isWrite() ? "write to " : "read from ") + place.node() + " offset " + place.offset();
    }
}
