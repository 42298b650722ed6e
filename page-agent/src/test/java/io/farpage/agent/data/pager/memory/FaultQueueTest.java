package io.farpage.agent.data.pager.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class FaultQueueTest {
    private final FaultQueue queue = new FaultQueue();

    @Test
    void shouldKeepFaultsInOrderWhenQueueGrows() {
        SplittableRandom random = new SplittableRandom(3);
        Deque<Integer> expected = new ArrayDeque<>();
        for (int i = 0; i < 20_000; i++) {
            if (random.nextInt(5) < 3 || expected.isEmpty()) {
                queue.add(i, i % 2 == 0, -i);
                expected.add(i);
            } else {
                int next = expected.remove();
                assertEquals(next, queue.page());
                assertEquals(next % 2 == 0, queue.isWrite());
                assertEquals(-next, queue.seenAt());
                queue.remove();
            }
            assertEquals(expected.size(), queue.size());
        }
        assertTrue(queue.size() > 64);
    }
}
