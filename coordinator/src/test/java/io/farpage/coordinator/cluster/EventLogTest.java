package io.farpage.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.Event;
import io.farpage.coordinator.model.EventBatch;
import io.farpage.coordinator.model.EventKind;
import io.farpage.it.deadlines.Deadlines;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.locks.ReentrantLock;
import org.junit.jupiter.api.Test;

class EventLogTest {

    private static Told event(long index) {
        return new Told(
                new Event(
                        index,
                        EventKind.NODE_CHANGED,
                        Optional.empty(),
                        Optional.empty(),
                        Optional.empty(),
                        OptionalLong.empty()),
                Audience.EVERYONE);
    }

    private static List<Long> indexes(EventBatch batch) {
        return batch.events().stream().map(Event::index).toList();
    }

    @Test
    void shouldGiveEventsAfterTheIndex() throws InterruptedException {
        EventLog log = new EventLog(3, 0);
        log.append(List.of(event(1), event(2), event(3), event(4)));
        assertEquals(List.of(2L, 3L, 4L), indexes(log.after(1, Duration.ZERO, EventFilter.ALL)));
        assertEquals(List.of(4L), indexes(log.after(3, Duration.ZERO, EventFilter.ALL)));
        assertEquals(List.of(), indexes(log.after(4, Duration.ZERO, EventFilter.ALL)));
    }

    @Test
    void shouldAskForAResyncWhenEventsWereMissed() throws InterruptedException {
        EventLog log = new EventLog(3, 0);
        log.append(List.of(event(1), event(2), event(3), event(4)));
        assertTrue(log.after(0, Duration.ofMinutes(1), EventFilter.ALL).resync(), "too old");
        assertTrue(log.after(5, Duration.ofMinutes(1), EventFilter.ALL).resync(), "from the future");
        assertEquals(4, log.after(5, Duration.ZERO, EventFilter.ALL).index());
        EventLog restarted = new EventLog(3, 4);
        assertTrue(restarted.after(3, Duration.ZERO, EventFilter.ALL).resync());
        assertFalse(restarted.after(4, Duration.ZERO, EventFilter.ALL).resync());
    }

    @Test
    void shouldWakeEveryWaiterByOneEventAndOnClose() throws Exception {
        EventLog log = new EventLog(100, 0);
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<EventBatch>> waiters = new ArrayList<>();
            for (int i = 0; i < 500; i++) {
                waiters.add(threads.submit(() -> log.after(0, Duration.ofMinutes(1), EventFilter.ALL)));
            }
            Deadlines.await("waiters", Deadlines.SHORT).until(() -> log.waiting() == 500);
            log.append(List.of(event(1)));
            for (Future<EventBatch> waiter : waiters) {
                assertEquals(List.of(1L), indexes(Deadlines.get("a waiter", Deadlines.LONG, waiter)));
            }
            Future<EventBatch> last = threads.submit(() -> log.after(1, Duration.ofMinutes(1), EventFilter.ALL));
            Deadlines.await("the last waiter", Deadlines.SHORT).until(() -> log.waiting() == 1);
            log.close();
            assertEquals(List.of(), indexes(Deadlines.get("the last waiter", Deadlines.LONG, last)));
        }
    }

    private static Told failed(long index, String node) {
        return new Told(
                new Event(
                        index,
                        EventKind.NODE_FAILED,
                        Optional.of(node),
                        Optional.empty(),
                        Optional.empty(),
                        OptionalLong.empty()),
                Audience.EVERYONE);
    }

    @Test
    void shouldTellOfAFailureAtOnceOnlyThoseThatFollowTheNode() {
        EventFilter follower = new EventFilter(Optional.of("a"), Optional.of(Set.of("failed")));
        EventFilter distant = new EventFilter(Optional.of("a"), Optional.of(Set.of("b")));
        EventFilter itself = new EventFilter(Optional.of("failed"), Optional.of(Set.of()));
        EventFilter mesh = new EventFilter(Optional.of("a"), Optional.empty());
        ReentrantLock lock = new ReentrantLock();
        lock.lock();
        try {
            for (EventFilter filter : List.of(follower, itself, mesh, EventFilter.ALL)) {
                EventWaiter waiter = new EventWaiter(filter, lock.newCondition());
                waiter.tell(failed(1, "failed"));
                assertTrue(waiter.isOver(), filter.toString());
            }
            EventWaiter waiter = new EventWaiter(distant, lock.newCondition());
            waiter.tell(failed(1, "failed"));
            assertFalse(waiter.isOver());
            waiter.tell(event(2));
            assertTrue(waiter.isOver(), "an event of another kind");
            assertEquals(2, waiter.events().size());
        } finally {
            lock.unlock();
        }
    }

    @Test
    void shouldTellEveryNodeOfAFailureEvenIfNoFurtherEventComes() throws Exception {
        EventLog log = new EventLog(100, 0);
        EventFilter distant = new EventFilter(Optional.of("a"), Optional.of(Set.of("b")));
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<EventBatch>> waiters = new ArrayList<>();
            for (int i = 0; i < 500; i++) {
                waiters.add(threads.submit(() -> log.after(0, Duration.ofMinutes(1), distant)));
            }
            Deadlines.await("waiters", Deadlines.SHORT).until(() -> log.waiting() == 500);
            log.append(List.of(failed(1, "failed")));
            for (Future<EventBatch> waiter : waiters) {
                assertEquals(List.of(1L), indexes(Deadlines.get("a waiter", Deadlines.LONG, waiter)));
            }
        }
    }
}
