package io.farpage.agent.data.coherence;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Bytes of pages that were granted and could not be installed, since the host had no memory for them or the kernel
 * refused for a moment. Rarely used, so it allocates.
 */
final class ParkedPages {
    record Parked(int page, MemorySegment bytes) {}

    private final Deque<Parked> all = new ArrayDeque<>();

    boolean isEmpty() {
        return all.isEmpty();
    }

    int size() {
        return all.size();
    }

    /** Copies a page. A grant without bytes has an empty segment. */
    void add(int page, MemorySegment bytes) {
        MemorySegment copy = MemorySegment.NULL;
        if (bytes.byteSize() > 0) {
            copy = Arena.ofAuto().allocate(bytes.byteSize(), 8);
            copy.copyFrom(bytes);
        }
        add(new Parked(page, copy));
    }

    void add(Parked parked) {
        all.add(parked);
    }

    /** Removes the one that waits longest. There is one. */
    Parked take() {
        return all.remove();
    }

    void clear() {
        all.clear();
    }
}
