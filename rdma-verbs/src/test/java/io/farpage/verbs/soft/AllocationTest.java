package io.farpage.verbs.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.farpage.verbs.SendFlag;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** In steady state neither side allocates anything. */
final class AllocationTest {
    private static final int WARM_UP = 50_000;
    private static final int COUNT = 100_000;
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private static long[] responders() {
        List<Thread> all = Thread.getAllStackTraces().keySet().stream()
                .filter(t -> t.getName().startsWith("soft-responder"))
                .toList();
        assertTrue(!all.isEmpty(), "no responder thread is there");
        return all.stream().mapToLong(Thread::threadId).toArray();
    }

    private interface Operation {
        void run(int times);
    }

    private static void requireNoAllocation(Operation operation) {
        operation.run(WARM_UP);
        long self = Thread.currentThread().threadId();
        long[] others = responders();
        long before = THREADS.getThreadAllocatedBytes(self);
        // What the measurement itself allocates on this thread.
        long overhead = THREADS.getThreadAllocatedBytes(self) - before;
        long othersBefore = sum(others);
        long start = THREADS.getThreadAllocatedBytes(self);
        operation.run(COUNT);
        long own = THREADS.getThreadAllocatedBytes(self) - start - overhead;
        long theirs = sum(others) - othersBefore;
        // Less than a hundredth of a byte per operation is none: a recompilation may materialize an object once.
        assertTrue(own < COUNT / 100, "allocated " + own + " bytes over " + COUNT + " operations");
        assertTrue(theirs < COUNT / 100, "responders allocated " + theirs + " bytes");
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
        SoftOptions options = SoftOptions.DEFAULT.withIdle(
                sleeping ? IdleStrategy.BLOCK : IdleStrategy.ADAPTIVE, Duration.ofNanos(20_000));
        try (Loopback pair = new Loopback(options)) {
            requireNoAllocation(times -> {
                for (int i = 0; i < times; i++) {
                    pair.post(i, 4096);
                    assertTrue((sleeping ? pair.sleep() : pair.spin()).isSuccess());
                }
            });
        }
    }

    @Test
    void shouldAllocateNothingPerPipelinedReadAndWrite() {
        try (Loopback pair = new Loopback(SoftOptions.DEFAULT)) {
            requireNoAllocation(times -> {
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
            });
        }
    }
}
