package io.farpage.verbs.ibverbs;

import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * The receives outstanding on a shared receive queue, with the caller's ids. They complete in any order and on several
 * completion queues, so on several threads, while one thread posts: a lock-free stack of free slots, its head counted,
 * so that an exchange fails if the slot was acquired and released since the read (ABA).
 */
final class SharedSlots {
    private static final int NONE = -1;

    private final int id;
    private final AtomicLongArray wrIds;
    private final AtomicIntegerArray below;
    private final AtomicLong head = new AtomicLong();

    /** @param id number of the queue among those of its device */
    SharedSlots(int id, int capacity) {
        this.id = id;
        wrIds = new AtomicLongArray(capacity);
        below = new AtomicIntegerArray(capacity);
        for (int slot = 0; slot < capacity; slot++) {
            below.set(slot, slot + 1 < capacity ? slot + 1 : NONE);
        }
        head.set(pack(0, 0));
    }

    int id() {
        return id;
    }

    int capacity() {
        return wrIds.length();
    }

    /** Stores {@code wrId} in a free slot; the slot, or -1 if none is free. */
    int acquire(long wrId) {
        while (true) {
            long seen = head.get();
            int slot = (int) seen;
            if (slot == NONE) {
                return NONE;
            }
            if (head.compareAndSet(seen, pack(seen, below.get(slot)))) {
                wrIds.set(slot, wrId);
                return slot;
            }
        }
    }

    /** Frees a slot; returns what it stored. */
    long release(int slot) {
        long wrId = wrIds.get(slot);
        while (true) {
            long seen = head.get();
            below.set(slot, (int) seen);
            if (head.compareAndSet(seen, pack(seen, slot))) {
                return wrId;
            }
        }
    }

    private static long pack(long seen, int slot) {
        long count = (seen >>> 32) + 1;
        return (count << 32) | (slot & 0xFFFF_FFFFL);
    }
}
