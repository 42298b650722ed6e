package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.Event;
import io.farpage.coordinator.model.EventBatch;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Keeps the latest events, and lets clients wait for the next that concerns them. The index continues over restarts;
 * the events are lost, so a client that asks for older ones is told to read all state again.
 */
public final class EventLog {

    private static final int LONGEST_BATCH = 1_000;

    /**
     * Answers to all watchers at once would hold up heartbeats for as long as they take: a third of a millisecond of
     * CPU each.
     */
    private static final Duration SPREAD_EACH = Duration.ofNanos(500_000);

    private static final Duration LONGEST_SPREAD = Duration.ofMillis(500);

    private final ReentrantLock lock = new ReentrantLock();
    private final EventWaiters waiters = new EventWaiters();
    private final ArrayDeque<Told> events = new ArrayDeque<>();
    private final int retained;
    private long index;
    private long restarts;
    private boolean closed;

    EventLog(int retained, long index) {
        this.retained = retained;
        this.index = index;
    }

    void append(List<Told> more) {
        lock.lock();
        try {
            for (Told told : more) {
                events.addLast(told);
                index = told.event().index();
                waiters.of(told.audience()).forEach(waiter -> waiter.tell(told));
            }
            while (events.size() > retained) {
                events.removeFirst();
            }
        } finally {
            lock.unlock();
        }
    }

    /**
     * Drops all events and continues from an index: clients that ask for events before it are told to read all state
     * again.
     */
    void restart(long from) {
        lock.lock();
        try {
            events.clear();
            index = from;
            restarts++;
            waiters.all().forEach(EventWaiter::end);
        } finally {
            lock.unlock();
        }
    }

    /** The index of the last event. */
    public long index() {
        lock.lock();
        try {
            return index;
        } finally {
            lock.unlock();
        }
    }

    /**
     * The events after an index that a filter admits. Waits until there is one, and returns none after the wait. The
     * index of the answer is that of the last event that was looked at, whether or not the filter admits it.
     *
     * @throws InterruptedException if interrupted while waiting
     */
    public EventBatch after(long seen, Duration wait, EventFilter filter) throws InterruptedException {
        lock.lock();
        try {
            if (isMissed(seen)) {
                return new EventBatch(index, true, List.of());
            }
            EventBatch known = known(seen, filter);
            if (!known.events().isEmpty() || known.index() < index || closed || !wait.isPositive()) {
                return known;
            }
            return await(wait, filter);
        } finally {
            lock.unlock();
        }
    }

    private boolean isMissed(long seen) {
        return seen > index || seen < index - events.size();
    }

    private EventBatch known(long seen, EventFilter filter) {
        List<Event> admitted = new ArrayList<>();
        // From the end: a watcher is seldom far behind.
        Iterator<Told> newest = events.descendingIterator();
        List<Told> unseen = new ArrayList<>();
        for (long i = seen; i < index; i++) {
            unseen.add(newest.next());
        }
        for (Told told : unseen.reversed()) {
            if (filter.admits(told.audience())) {
                admitted.add(told.event());
                if (admitted.size() == LONGEST_BATCH) {
                    return new EventBatch(told.event().index(), false, admitted);
                }
            }
        }
        return new EventBatch(index, false, admitted);
    }

    private EventBatch await(Duration wait, EventFilter filter) throws InterruptedException {
        long before = restarts;
        EventWaiter waiter = new EventWaiter(filter, lock.newCondition());
        waiters.add(waiter);
        try {
            waiter.await(wait.toNanos(), spread());
        } finally {
            waiters.remove(waiter);
        }
        if (restarts != before) {
            return new EventBatch(index, true, List.of());
        }
        List<Event> told = waiter.events();
        if (told.size() > LONGEST_BATCH) {
            List<Event> first = told.subList(0, LONGEST_BATCH);
            return new EventBatch(first.getLast().index(), false, first);
        }
        return new EventBatch(index, false, told);
    }

    /** A part of the time over which answers are spread that may come later, drawn by lot. */
    private long spread() {
        long longest = Math.min(LONGEST_SPREAD.toNanos(), waiters.size() * SPREAD_EACH.toNanos());
        return ThreadLocalRandom.current().nextLong(longest);
    }

    /** Ends all waits; from now on no call waits. */
    public void close() {
        lock.lock();
        try {
            closed = true;
            waiters.all().forEach(EventWaiter::end);
        } finally {
            lock.unlock();
        }
    }

    /** Waiters now, for metrics. */
    public int waiting() {
        lock.lock();
        try {
            return waiters.size();
        } finally {
            lock.unlock();
        }
    }
}
