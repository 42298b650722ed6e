package io.farpage.verbs.soft;

import io.farpage.verbs.WcOpcode;
import io.farpage.verbs.WcStatus;
import io.farpage.verbs.WorkCompletion;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Completions of receives on their way from the responders, which produce them, to the thread that polls. */
final class ReceiveCompletions {
    /** Where a receive comes from: a queue pair. */
    interface Origin {
        int qpn();

        /** How often the queue pair was reset. */
        int generation();

        /** The queue that the receive was posted on. */
        ReceiveQueue queue();
    }

    private final int mask;
    private final @Nullable Origin[] origins;
    private final int[] generations;
    private final int[] slots;
    private final long[] wrIds;
    private final WcStatus[] statuses;
    private final int[] lengths;

    private volatile long produced;
    private volatile long consumed;

    ReceiveCompletions(int capacity) {
        int size = Integer.highestOneBit(Math.max(1, capacity * 2 - 1));
        this.mask = size - 1;
        this.origins = new @Nullable Origin[size];
        this.generations = new int[size];
        this.slots = new int[size];
        this.wrIds = new long[size];
        this.statuses = new WcStatus[size];
        this.lengths = new int[size];
    }

    /**
     * Adds one; from any thread.
     *
     * @return false if the ring is full, which reservations rule out
     */
    @SuppressWarnings("NonAtomicVolatileUpdate") // written under the lock, read without
    synchronized boolean add(Origin origin, int generation, int slot, long wrId, WcStatus status, int length) {
        long at = produced;
        if (at - consumed > mask) {
            return false;
        }
        int i = (int) at & mask;
        origins[i] = origin;
        generations[i] = generation;
        slots[i] = slot;
        wrIds[i] = wrId;
        statuses[i] = status;
        lengths[i] = length;
        produced = at + 1;
        return true;
    }

    boolean isEmpty() {
        return consumed == produced;
    }

    /**
     * Moves completions to {@code into} from {@code count} on, dropping those of queue pairs that were reset or closed.
     */
    int drain(WorkCompletion[] into, int count) {
        long at = consumed;
        long end = produced;
        int n = count;
        while (at < end && n < into.length) {
            int i = (int) at & mask;
            Origin origin = Objects.requireNonNull(origins[i]);
            origins[i] = null;
            origin.queue().release(slots[i]);
            if (origin.generation() == generations[i]) {
                into[n++].set(wrIds[i], statuses[i], WcOpcode.RECV, 0, lengths[i], origin.qpn());
            }
            consumed = ++at;
        }
        return n;
    }
}
