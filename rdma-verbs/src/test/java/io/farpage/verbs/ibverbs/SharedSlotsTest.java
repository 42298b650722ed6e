package io.farpage.verbs.ibverbs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

final class SharedSlotsTest {
    private static final int CAPACITY = 8;
    private static final int ROUNDS = 20_000;

    @Test
    void shouldHandOutEverySlotOnceAndReturnWhatItStores() {
        SharedSlots slots = new SharedSlots(0, 2);
        int first = slots.acquire(100);
        int second = slots.acquire(200);

        assertEquals(-1, slots.acquire(300));
        assertEquals(100, slots.release(first));
        assertEquals(first, slots.acquire(400));
        assertEquals(200, slots.release(second));
        assertEquals(400, slots.release(first));
    }

    @Test
    void shouldLoseNoSlotWhenTwoThreadsReleaseWhileOneAcquires() throws Exception {
        SharedSlots slots = new SharedSlots(0, CAPACITY);
        BlockingQueue<long[]> held = new ArrayBlockingQueue<>(CAPACITY + 2);
        try (ExecutorService threads = Executors.newFixedThreadPool(2)) {
            List<Future<Boolean>> releasing = new ArrayList<>();
            for (int i = 0; i < 2; i++) {
                releasing.add(threads.submit(() -> {
                    boolean right = true;
                    for (long[] next = held.take(); next[0] >= 0; next = held.take()) {
                        right &= slots.release((int) next[0]) == next[1];
                    }
                    return right;
                }));
            }
            for (long round = 0; round < ROUNDS; ) {
                int slot = slots.acquire(round);
                if (slot >= 0) {
                    held.put(new long[] {slot, round++});
                } else {
                    Thread.onSpinWait();
                }
            }
            held.put(new long[] {-1, 0});
            held.put(new long[] {-1, 0});
            for (Future<Boolean> future : releasing) {
                assertEquals(true, future.get());
            }
        }
        for (int i = 0; i < CAPACITY; i++) {
            assertEquals(true, slots.acquire(i) >= 0);
        }
        assertEquals(-1, slots.acquire(0));
    }
}
