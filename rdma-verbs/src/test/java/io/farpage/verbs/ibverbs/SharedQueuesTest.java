package io.farpage.verbs.ibverbs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

final class SharedQueuesTest {
    private final SharedQueues queues = new SharedQueues();

    @Test
    void shouldFreeTheSlotOfTheQueueThatTheCompletionNames() {
        SharedSlots first = queues.add(1);
        SharedSlots second = queues.add(1);
        long ofFirst = WrId.ofSharedRecv(first.id(), first.acquire(100));
        long ofSecond = WrId.ofSharedRecv(second.id(), second.acquire(200));

        assertEquals(200, queues.release(ofSecond));
        assertEquals(-1, first.acquire(300));
        assertEquals(100, queues.release(ofFirst));
    }

    @Test
    void shouldIgnoreACompletionOfAQueueThatIsClosed() {
        SharedSlots closed = queues.add(1);
        long id = WrId.ofSharedRecv(closed.id(), closed.acquire(100));
        queues.remove(closed);
        SharedSlots next = queues.add(1);
        next.acquire(200);

        assertEquals(0, queues.release(id));
        assertEquals(-1, next.acquire(300));
    }
}
