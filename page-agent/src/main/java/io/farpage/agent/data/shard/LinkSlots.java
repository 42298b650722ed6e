package io.farpage.agent.data.shard;

import io.farpage.pool.header.PoolHeader;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * The numbers of the links that have a queue pair, and a frame for the peer's pool header for each. A number is free
 * again once the queue pair is destroyed; its generation then differs, so a completion of an earlier link with that
 * number does not count for the present one. Belongs to the shard's thread.
 */
final class LinkSlots {
    private final @Nullable PeerLink[] held;
    private final char[] generations;
    private final MemorySegment headerFrames;

    /** @param headerFrames {@link PoolHeader#BYTES} for each number */
    LinkSlots(MemorySegment headerFrames) {
        this.headerFrames = headerFrames;
        int capacity = (int) Math.min(Integer.MAX_VALUE, headerFrames.byteSize() / PoolHeader.BYTES);
        this.held = new @Nullable PeerLink[capacity];
        this.generations = new char[capacity];
    }

    int capacity() {
        return held.length;
    }

    /** The link with a number; null if the number is free. */
    @Nullable
    PeerLink get(int number) {
        return held[number];
    }

    /** Assigns a free number to a link. Returns false if there is none. */
    boolean assign(PeerLink link) {
        for (int number = 0; number < held.length; number++) {
            if (held[number] == null) {
                held[number] = link;
                generations[number]++;
                link.number(number);
                return true;
            }
        }
        return false;
    }

    /** Frees the number of a link. */
    void free(PeerLink link) {
        held[link.number()] = null;
        link.number(PeerLink.NO_NUMBER);
    }

    /** Exchanges the numbers of two links. */
    void exchanged(PeerLink one, PeerLink other) {
        hold(one);
        hold(other);
    }

    private void hold(PeerLink link) {
        if (link.number() != PeerLink.NO_NUMBER) {
            held[link.number()] = link;
        }
    }

    /** The work request id of the READ of a peer's header. */
    long headerWrId(PeerLink link) {
        return WrId.header(generations[link.number()], link.number());
    }

    /** The link whose header READ has that id; null if its queue pair was destroyed. */
    @Nullable
    PeerLink ofHeader(long wrId) {
        int number = WrId.slot(wrId);
        return WrId.generation(wrId) == generations[number] ? held[number] : null;
    }

    MemorySegment headerFrame(PeerLink link) {
        return headerFrames.asSlice((long) link.number() * PoolHeader.BYTES, PoolHeader.BYTES);
    }
}
