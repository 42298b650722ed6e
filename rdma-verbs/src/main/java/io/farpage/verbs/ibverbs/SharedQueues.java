package io.farpage.verbs.ibverbs;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The shared receive queues of a device. The completion of a receive names its queue and slot, see {@link WrId}.
 * Thread-safe.
 */
final class SharedQueues {
    private final List<SharedSlots> queues = new CopyOnWriteArrayList<>();
    private final AtomicInteger nextId = new AtomicInteger();

    /** Adds a queue of {@code capacity} receives; returns its slots. */
    SharedSlots add(int capacity) {
        SharedSlots slots = new SharedSlots(nextId.getAndIncrement(), capacity);
        queues.add(slots);
        return slots;
    }

    void remove(SharedSlots slots) {
        queues.remove(slots);
    }

    /** Frees the slot of a completed receive; returns the caller's id of the receive, or 0 if its queue is closed. */
    long release(long id) {
        for (int i = 0; i < queues.size(); i++) {
            SharedSlots slots = queues.get(i);
            if (slots.id() == WrId.sharedQueue(id)) {
                return slots.release(WrId.slot(id));
            }
        }
        return 0;
    }
}
