package io.farpage.verbs.ibverbs;

import io.farpage.verbs.VerbsException;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * How many completions may be outstanding on one completion queue: each queue pair counts with the queues that complete
 * there, a shared receive queue once however many queue pairs use it. Keeps the queue from ever overrunning, which
 * would lose completions and fail the queue. Thread-safe.
 */
final class Reservations {
    private static final int ENOMEM = 12;

    private final String owner;
    private final int capacity;
    private final Map<IbvSharedReceiveQueue, Integer> shared = new HashMap<>();
    private int reserved;

    /** @param owner name for messages */
    Reservations(String owner, int capacity) {
        this.owner = owner;
        this.capacity = capacity;
    }

    /** @throws VerbsException if they do not fit; then nothing is reserved */
    synchronized void reserve(int count, @Nullable IbvSharedReceiveQueue sharedQueue) {
        long more = count;
        if (sharedQueue != null && !shared.containsKey(sharedQueue)) {
            more += sharedQueue.capacity();
        }
        if (reserved + more > capacity) {
            throw new VerbsException(
                    "create_qp: " + owner + " could overrun: its queue pairs may have " + (reserved + more)
                            + " completions outstanding and it holds " + capacity
                            + "; create it larger, or lower max_send_wr or max_recv_wr",
                    ENOMEM);
        }
        reserved += (int) more;
        if (sharedQueue != null) {
            shared.merge(sharedQueue, 1, Integer::sum);
        }
    }

    synchronized void release(int count, @Nullable IbvSharedReceiveQueue sharedQueue) {
        reserved -= count;
        if (sharedQueue != null
                && shared.computeIfPresent(sharedQueue, (q, users) -> users > 1 ? users - 1 : null) == null) {
            reserved -= sharedQueue.capacity();
        }
    }
}
