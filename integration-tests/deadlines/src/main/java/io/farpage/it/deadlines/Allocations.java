package io.farpage.it.deadlines;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.time.Duration;

/**
 * Shows that an operation allocates nothing in its steady state, which begins when the JVM has compiled it: until then
 * compiled code keeps objects that the last compilation removes. How many operations that takes depends on the load of
 * the machine, so rounds are repeated until one allocates nothing. An object for each operation never lets such a round
 * come.
 */
public final class Allocations {
    /** What a quiet machine needs at most. */
    private static final Duration WARM_UP = Duration.ofSeconds(30);

    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private Allocations() {}

    /** What is measured. */
    public interface Operation {
        void run(int times);
    }

    /**
     * Fails if this thread does not come to a round of {@code times} operations in which it allocates less than a
     * hundredth of a byte for each: a recompilation may materialize an object once.
     */
    public static void assertNone(int times, Operation operation) {
        assertNone(new long[] {Thread.currentThread().threadId()}, times, operation);
    }

    /** As {@link #assertNone(int, Operation)}, by threads of these ids together. */
    public static void assertNone(long[] threads, int times, Operation operation) {
        operation.run(times);
        long began = System.nanoTime();
        long bytes = allocated(threads, operation, times);
        while (bytes >= Math.max(1, times / 100)) {
            Duration took = Duration.ofNanos(System.nanoTime() - began);
            if (took.compareTo(Deadlines.of(WARM_UP)) > 0) {
                throw new AssertionError(
                        "%d bytes allocated in %d operations, after warming up for %s".formatted(bytes, times, took));
            }
            bytes = allocated(threads, operation, times);
        }
    }

    private static long allocated(long[] threads, Operation operation, int times) {
        long before = sum(threads);
        // What the measurement allocates on this thread.
        long overhead = sum(threads) - before;
        long start = sum(threads);
        operation.run(times);
        return sum(threads) - start - overhead;
    }

    private static long sum(long[] threads) {
        long sum = 0;
        for (long thread : threads) {
            sum += Math.max(0, THREADS.getThreadAllocatedBytes(thread));
        }
        return sum;
    }
}
