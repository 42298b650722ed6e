package io.farpage.pool.frames;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.management.ManagementFactory;
import java.util.BitSet;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class FrameAllocatorTest {
    @ParameterizedTest
    @ValueSource(ints = {1, 63, 64, 65, 128, 1000})
    void shouldAllocateEveryFrameOnceAndThenNone(int capacity) {
        FrameAllocator frames = new FrameAllocator(capacity);
        BitSet given = new BitSet();
        for (int i = 0; i < capacity; i++) {
            int frame = frames.allocate();
            assertTrue(frame >= 0 && frame < capacity, () -> "frame " + frame);
            assertFalse(given.get(frame), () -> "frame " + frame + " was given twice");
            given.set(frame);
        }
        assertEquals(FrameAllocator.NONE, frames.allocate());
        assertEquals(0, frames.available());
        assertEquals(capacity, frames.highWater());
        assertEquals(1, frames.exhaustions());
    }

    @Test
    void shouldAllocateNothingWithoutFrames() {
        assertEquals(FrameAllocator.NONE, new FrameAllocator(0).allocate());
        assertThrows(IllegalArgumentException.class, () -> new FrameAllocator(-1));
    }

    @Test
    void shouldAllocateTheFrameThatWasFreedLast() {
        FrameAllocator frames = new FrameAllocator(10_000);
        int first = frames.allocate();
        for (int i = 0; i < 300; i++) {
            assertTrue(frames.allocate() != FrameAllocator.NONE);
        }
        frames.free(first);
        assertEquals(first, frames.allocate());
    }

    @Test
    void shouldRefuseToFreeAFrameTwice() {
        FrameAllocator frames = new FrameAllocator(100);
        int frame = frames.allocate();
        frames.free(frame);
        IllegalStateException e = assertThrows(IllegalStateException.class, () -> frames.free(frame));
        assertEquals("frame " + frame + " is freed twice", e.getMessage());
        assertEquals(100, frames.available());
    }

    @ParameterizedTest
    @ValueSource(ints = {-1, 100, Integer.MIN_VALUE, Integer.MAX_VALUE})
    void shouldRefuseToFreeAFrameThatDoesNotExist(int frame) {
        FrameAllocator frames = new FrameAllocator(100);
        assertThrows(IllegalArgumentException.class, () -> frames.free(frame));
        assertThrows(IllegalArgumentException.class, () -> frames.isFree(frame));
    }

    @Test
    void shouldFindARunBetweenAllocatedFrames() {
        FrameAllocator frames = new FrameAllocator(300);
        assertEquals(0, frames.allocateRun(300));
        frames.freeRun(10, 5);
        frames.freeRun(60, 130);
        assertEquals(10, frames.allocateRun(5));
        assertEquals(60, frames.allocateRun(130));
        assertEquals(FrameAllocator.NONE, frames.allocateRun(1));
    }

    @Test
    void shouldAllocateNoRunWhenFreeFramesAreScattered() {
        FrameAllocator frames = new FrameAllocator(256);
        frames.allocateRun(256);
        for (int frame = 0; frame < 256; frame += 2) {
            frames.free(frame);
        }
        assertEquals(FrameAllocator.NONE, frames.allocateRun(2));
        assertEquals(128, frames.available());
        assertThrows(IllegalArgumentException.class, () -> frames.allocateRun(0));
        assertThrows(IllegalArgumentException.class, () -> frames.allocateRun(257));
    }

    @RepeatedTest(20)
    void shouldDoAsAPlainSetDoes() {
        long seed = Long.getLong("farpage.seed", System.nanoTime());
        Random random = new Random(seed);
        int capacity = 1 + random.nextInt(400);
        FrameAllocator frames = new FrameAllocator(capacity);
        BitSet held = new BitSet();
        for (int step = 0; step < 5_000; step++) {
            String where = "seed " + seed + " step " + step;
            int count = 1 + random.nextInt(Math.min(capacity, 80));
            if (random.nextBoolean()) {
                int frame = random.nextInt(capacity);
                assertEquals(!held.get(frame), frames.isFree(frame), where);
                if (held.get(frame)) {
                    frames.free(frame);
                    held.clear(frame);
                } else {
                    assertThrows(IllegalStateException.class, () -> frames.free(frame), where);
                }
            } else if (random.nextBoolean()) {
                int frame = frames.allocate();
                assertEquals(held.cardinality() == capacity, frame == FrameAllocator.NONE, where);
                if (frame != FrameAllocator.NONE) {
                    assertFalse(held.get(frame), where);
                    held.set(frame);
                }
            } else {
                int first = frames.allocateRun(count);
                assertEquals(lowestRun(held, capacity, count), first, where);
                if (first != FrameAllocator.NONE) {
                    held.set(first, first + count);
                }
            }
            assertEquals(capacity - held.cardinality(), frames.available(), where);
        }
    }

    @Test
    void shouldNeverAllocateAFrameToTwoOwnersAtOnce() throws InterruptedException {
        int capacity = 150;
        FrameAllocator frames = new FrameAllocator(capacity);
        AtomicInteger[] owners = new AtomicInteger[capacity];
        for (int i = 0; i < capacity; i++) {
            owners[i] = new AtomicInteger();
        }
        AtomicInteger violations = new AtomicInteger();
        Thread[] threads = new Thread[4];
        for (int t = 0; t < threads.length; t++) {
            int tag = t + 1;
            threads[t] = Thread.ofPlatform().start(() -> {
                Random random = new Random(tag);
                for (int round = 0; round < 60_000; round++) {
                    int count = 1 + random.nextInt(random.nextInt(8) == 0 ? 70 : 2);
                    int first = count == 1 ? frames.allocate() : frames.allocateRun(count);
                    if (first == FrameAllocator.NONE) {
                        continue;
                    }
                    for (int frame = first; frame < first + count; frame++) {
                        violations.addAndGet(owners[frame].compareAndSet(0, tag) ? 0 : 1);
                    }
                    for (int frame = first; frame < first + count; frame++) {
                        violations.addAndGet(owners[frame].compareAndSet(tag, 0) ? 0 : 1);
                    }
                    frames.freeRun(first, count);
                }
            });
        }
        for (Thread thread : threads) {
            thread.join();
        }
        assertEquals(0, violations.get());
        assertEquals(capacity, frames.available());
        assertEquals(0, frames.allocateRun(capacity), "every frame came back");
    }

    /**
     * The run spans two words. The second thread takes and gives back the first frame of the second word all the time.
     */
    @Test
    void shouldFreeAllOfARunWhenAnotherThreadGetsOneOfItsFrames() throws InterruptedException {
        FrameAllocator frames = new FrameAllocator(4 * Long.SIZE);
        frames.allocateRun(4 * Long.SIZE);
        frames.free(Long.SIZE + 40);
        CountDownLatch aimed = new CountDownLatch(1);
        AtomicBoolean done = new AtomicBoolean();
        Thread other = Thread.ofPlatform().start(() -> {
            // A thread goes on in the word of the frame that it freed last.
            frames.free(frames.allocate());
            aimed.countDown();
            while (!done.get()) {
                int frame = frames.allocate();
                if (frame == FrameAllocator.NONE) {
                    return;
                }
                frames.free(frame);
            }
        });
        aimed.await();
        frames.freeRun(0, Long.SIZE + 40);
        frames.freeRun(Long.SIZE + 41, 3 * Long.SIZE - 41);
        for (int round = 0; round < 500_000; round++) {
            int first = frames.allocateRun(Long.SIZE + 32);
            if (first != FrameAllocator.NONE) {
                frames.freeRun(first, Long.SIZE + 32);
            }
        }
        done.set(true);
        other.join();
        assertEquals(frames.capacity(), frames.available());
        assertEquals(0, frames.allocateRun(frames.capacity()), "every frame came back");
    }

    @Test
    void shouldAllocateNothingOnTheJavaHeap() {
        com.sun.management.ThreadMXBean threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        FrameAllocator frames = new FrameAllocator(1 << 16);
        churn(frames, 50_000);
        long before = threads.getCurrentThreadAllocatedBytes();
        churn(frames, 1_000_000);
        long allocated = threads.getCurrentThreadAllocatedBytes() - before;
        // Reading the counter itself allocates a few dozen bytes.
        assertTrue(allocated < 1_000, () -> allocated + " bytes for a million frames");
    }

    private static void churn(FrameAllocator frames, int rounds) {
        for (int i = 0; i < rounds; i++) {
            int frame = frames.allocate();
            int run = frames.allocateRun(4);
            frames.free(frame);
            frames.freeRun(run, 4);
        }
    }

    private static int lowestRun(BitSet held, int capacity, int count) {
        for (int first = held.nextClearBit(0); first + count <= capacity; first = held.nextClearBit(first)) {
            int next = held.nextSetBit(first);
            if (next < 0 || next >= first + count) {
                return first;
            }
            first = next;
        }
        return FrameAllocator.NONE;
    }
}
