package io.farpage.verbs.soft;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The native buffers of a device's connections and queue pairs. A buffer that is given back serves the next one of its
 * size, so links that come and go need no more memory than the most that were open at once; a garbage collection, which
 * would have to free the buffers otherwise, is rare by design. Buffers are cleared when they are given back: what
 * arrived on an encrypted connection does not outlive it. The pool holds its memory as long as the device is reachable.
 * Thread-safe; for the control path.
 */
final class BufferPool {
    private static final long ALIGNMENT = 64;

    /** Buffers that are not taken, by their size. Sizes come from the configuration, so there are few. */
    private final Map<Long, Deque<MemorySegment>> free = new HashMap<>();

    private long bytes;
    private long taken;

    /** A new owner of buffers, which has none yet. */
    Lease lease() {
        return new Lease();
    }

    /** Sum of the sizes of all buffers that were made. */
    synchronized long bytes() {
        return bytes;
    }

    /** Sum of the sizes of the buffers that leases hold. */
    synchronized long taken() {
        return taken;
    }

    private synchronized MemorySegment take(long size) {
        Deque<MemorySegment> unused = unused(size);
        if (unused.isEmpty()) {
            // An automatic arena: closing a shared one stops every thread of the JVM for a moment.
            unused.add(Arena.ofAuto().allocate(size, ALIGNMENT));
            bytes += size;
        }
        taken += size;
        return unused.removeLast();
    }

    private Deque<MemorySegment> unused(long size) {
        return free.computeIfAbsent(size, _ -> new ArrayDeque<>());
    }

    private synchronized void give(List<MemorySegment> buffers) {
        for (MemorySegment buffer : buffers) {
            unused(buffer.byteSize()).addLast(buffer);
            taken -= buffer.byteSize();
        }
    }

    /** The buffers of one owner. One thread at a time. */
    final class Lease implements SegmentAllocator {
        private final List<MemorySegment> held = new ArrayList<>();

        /** Takes a buffer of zeros. */
        @Override
        public MemorySegment allocate(long size, long alignment) {
            if (alignment > ALIGNMENT) {
                throw new IllegalArgumentException("alignment " + alignment + " is more than " + ALIGNMENT);
            }
            MemorySegment buffer = take(size);
            held.add(buffer);
            return buffer;
        }

        /** Gives back all buffers, which the owner must not use from now on. The lease can take new ones. */
        void release() {
            held.forEach(buffer -> buffer.fill((byte) 0));
            give(held);
            held.clear();
        }
    }
}
