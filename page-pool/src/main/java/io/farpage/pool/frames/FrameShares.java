package io.farpage.pool.frames;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * Divides the frames of an allocator among owners, so that none holds what another one needs. Half of the frames are
 * guaranteed, an equal part to each owner. An owner claims more than its part from the frames that no owner has
 * claimed.
 *
 * <p>A share counts frames; the allocator hands them out. Thread-safe and lock-free; nothing is allocated after
 * {@link #open}. A claim within the guaranteed part changes nothing that other owners read.
 */
public final class FrameShares {
    private final int capacity;
    private final AtomicInteger owners = new AtomicInteger();
    /** Frames that no owner has claimed. Below 0 until owners have given back what a new owner is guaranteed. */
    private final AtomicInteger unclaimed;

    /** @param capacity frames to divide */
    public FrameShares(int capacity) {
        this.capacity = capacity;
        unclaimed = new AtomicInteger(capacity);
    }

    /**
     * Adds an owner.
     *
     * @param least frames that it is guaranteed however many owners there are
     */
    public Share open(int least) {
        owners.incrementAndGet();
        return new Share(least);
    }

    private boolean take(int count) {
        for (int seen = unclaimed.get(); seen >= count; seen = unclaimed.get()) {
            if (unclaimed.compareAndSet(seen, seen - count)) {
                return true;
            }
        }
        return false;
    }

    /** What one owner has claimed. One thread at a time. */
    public final class Share {
        private final int least;
        private int claimed;
        private boolean closed;

        private Share(int least) {
            this.least = least;
            claim(0);
        }

        /** Frames that {@link #claim} always grants. Changes with the number of owners. */
        public int guaranteed() {
            return Math.max(least, capacity / (2 * owners.get()));
        }

        /**
         * Sets how many frames the owner claims. What it gives up is free for others; it never claims fewer than it is
         * guaranteed.
         *
         * @return false if the claim is not granted and stays as it was
         */
        public boolean claim(int frames) {
            int guaranteed = guaranteed();
            int more = Math.max(frames, guaranteed) - claimed;
            if (more > 0 && frames > guaranteed) {
                if (!take(more)) {
                    return false;
                }
            } else if (more != 0) {
                unclaimed.addAndGet(-more);
            }
            claimed += more;
            return true;
        }

        /** Removes the owner. Idempotent. */
        public void close() {
            if (!closed) {
                closed = true;
                owners.decrementAndGet();
                unclaimed.addAndGet(claimed);
            }
        }
    }
}
