package io.farpage.rest;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Bytes of request bodies that a service holds in memory at once. Short bodies have a budget of their own, so that long
 * ones never keep a heartbeat out. Thread-safe.
 */
final class BodyBudget {
    /** The longest body that counts as short. */
    static final int SHORT = 64 << 10;

    private static final int HEAP_SHARE = 16;

    private final long capacity;
    private final AtomicLong shortFree;
    private final AtomicLong longFree;

    /**
     * Makes a budget.
     *
     * @param capacity bytes of long bodies, and again of short ones
     */
    BodyBudget(long capacity) {
        this.capacity = capacity;
        this.shortFree = new AtomicLong(capacity);
        this.longFree = new AtomicLong(capacity);
    }

    /** One sixteenth of the heap for either kind, and room for one body of the greatest length in any case. */
    static BodyBudget ofHeap(int maxBodyBytes) {
        return new BodyBudget(Math.max(Runtime.getRuntime().maxMemory() / HEAP_SHARE, maxBodyBytes + 1L));
    }

    /**
     * Takes bytes out of the budget. The caller closes the reservation when the body is no longer needed.
     *
     * @throws ProblemException 503 if that many are not free
     */
    Reservation reserve(long bytes) {
        AtomicLong free = bytes <= SHORT ? shortFree : longFree;
        if (free.addAndGet(-bytes) < 0) {
            free.addAndGet(bytes);
            throw new ProblemException(
                            503,
                            "overloaded",
                            ("a body of %d bytes does not fit beside those that are being received; all together may"
                                            + " have %d")
                                    .formatted(bytes, capacity))
                    .withRetryAfter(1);
        }
        return () -> free.addAndGet(bytes);
    }

    /** Bytes that belong to one body until it is closed. */
    @FunctionalInterface
    interface Reservation extends AutoCloseable {
        @Override
        void close();
    }
}
