package io.farpage.verbs.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.farpage.verbs.SendFlag;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * In steady state neither side allocates anything. The steady state begins when the JVM has compiled the data path:
 * until then compiled code keeps objects that the last compilation removes. How many operations that takes depends on
 * the load of the machine, so the test repeats short rounds until one allocates nothing, and measures after it. An
 * object per operation never lets such a round come.
 */
@Tag("portable")
final class AllocationTest {
    private static final int ROUND = 10_000;
    private static final Duration WARM_UP = Duration.ofSeconds(60);
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private final Set<Long> earlier = responders();

    private interface Operation {
        void run(int times);
    }

    /** The threads that serve queue pairs of this process now. */
    private static Set<Long> responders() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("soft-responder"))
                .map(Thread::threadId)
                .collect(Collectors.toSet());
    }

    /** Bytes that this thread and the responders of this test allocate while an operation runs so many times. */
    private static long allocated(long[] threads, Operation operation, int times) {
        long before = sum(threads);
        // What the measurement allocates on this thread.
        long overhead = sum(threads) - before;
        long start = sum(threads);
        operation.run(times);
        return sum(threads) - start - overhead;
    }

    private void requireNoAllocation(Operation operation, int times) {
        operation.run(ROUND);
        Set<Long> own = responders();
        own.removeAll(earlier);
        assertFalse(own.isEmpty(), "no responder thread of this test runs");
        own.add(Thread.currentThread().threadId());
        long[] threads = own.stream().mapToLong(Long::longValue).toArray();
        long deadline = System.nanoTime() + WARM_UP.toNanos();
        for (long bytes = 1; bytes > 0; ) {
            bytes = allocated(threads, operation, ROUND);
            assertTrue(
                    bytes == 0 || System.nanoTime() < deadline,
                    bytes + " bytes allocated over " + ROUND + " operations, after warming up for " + WARM_UP);
        }
        // Less than a hundredth of a byte per operation is none: a recompilation may materialize an object once, and is
        // over after some runs.
        for (long bytes = times; bytes >= times / 100; ) {
            bytes = allocated(threads, operation, times);
            assertTrue(
                    bytes < times / 100 || System.nanoTime() < deadline,
                    "allocated " + bytes + " bytes over " + times + " operations");
        }
    }

    private static long sum(long[] threads) {
        long sum = 0;
        for (long thread : threads) {
            sum += Math.max(0, THREADS.getThreadAllocatedBytes(thread));
        }
        return sum;
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldAllocateNothingPerRead(boolean sleeping) {
        requireNoAllocationPerRead(SoftOptions.DEFAULT, sleeping);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldAllocateNothingPerEncryptedRead(boolean sleeping) {
        EncryptedFixture.requireLibrary();
        requireNoAllocationPerRead(SoftOptions.DEFAULT.withEncryption(SoftOptions.Encryption.REQUIRED), sleeping);
    }

    private void requireNoAllocationPerRead(SoftOptions base, boolean sleeping) {
        SoftOptions options = base.withResponders(new SoftOptions.Responders(
                sleeping ? IdleStrategy.BLOCK : IdleStrategy.ADAPTIVE, Duration.ofNanos(20_000)));
        try (Loopback pair = new Loopback(options)) {
            requireNoAllocation(
                    times -> {
                        for (int i = 0; i < times; i++) {
                            pair.post(i, 4096);
                            assertTrue((sleeping ? pair.sleep() : pair.spin()).isSuccess());
                        }
                    },
                    sleeping ? 2 * ROUND : 10 * ROUND);
        }
    }

    @Test
    void shouldAllocateNothingPerPipelinedReadAndWrite() {
        requireNoAllocationPerPipelinedReadAndWrite(SoftOptions.DEFAULT);
    }

    @Test
    void shouldAllocateNothingPerEncryptedPipelinedReadAndWrite() {
        EncryptedFixture.requireLibrary();
        requireNoAllocationPerPipelinedReadAndWrite(
                SoftOptions.DEFAULT.withEncryption(SoftOptions.Encryption.REQUIRED));
    }

    private void requireNoAllocationPerPipelinedReadAndWrite(SoftOptions options) {
        try (Loopback pair = new Loopback(options)) {
            requireNoAllocation(
                    times -> {
                        for (int i = 0; i < times; i += 16) {
                            for (int k = 0; k < 8; k++) {
                                pair.from.prepareRead(
                                        k,
                                        pair.callerMemory.address() + k * 4096L,
                                        4096,
                                        pair.callerRegion.lkey(),
                                        pair.serverMemory.address(),
                                        pair.serverRegion.rkey(),
                                        SendFlag.NONE);
                                pair.from.prepareWrite(
                                        k,
                                        pair.callerMemory.address(),
                                        512,
                                        pair.callerRegion.lkey(),
                                        pair.serverMemory.address() + 8192,
                                        pair.serverRegion.rkey(),
                                        k == 7 ? SendFlag.SIGNALED : SendFlag.NONE);
                            }
                            pair.from.postSend();
                            assertEquals(7, pair.spin().wrId());
                        }
                    },
                    10 * ROUND);
        }
    }
}
