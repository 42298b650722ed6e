package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.Event;
import io.farpage.coordinator.model.EventBatch;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Keeps the latest events, and lets clients wait for the next. The index continues over restarts; the events are lost, so a client that asks for
 * older ones is told to read all state again.
 */
public final class EventLog {

    private static final int LONGEST_BATCH = 1_000;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final ArrayDeque<Event> events = new ArrayDeque<>();
    private final int retained;
    private long index;
    private boolean closed;

    EventLog(int retained, long index) {
        this.retained = retained;
        this.index = index;
    }

    void append(List<Event> more) {
        lock.lock();
        try {
            for (Event event : more) {
                events.addLast(event);
                index = event.index();
            }
            while (events.size() > retained) {
                events.removeFirst();
            }
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Drops all events and continues from an index: clients that ask for events before it are told to read all state again. */
    void restart(long from) {
        lock.lock();
        try {
            events.clear();
            index = from;
            changed.signalAll();
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
     * The events after an index. Waits until there is one, and returns none after the wait.
     *
     * @throws InterruptedException if interrupted while waiting
     */
    public EventBatch after(long seen, Duration wait) throws InterruptedException {
        long left = wait.toNanos();
        lock.lock();
        try {
            while (seen == index && left > 0 && !closed) {
                left = changed.awaitNanos(left);
            }
            if (seen > index || seen < index - events.size()) {
                return new EventBatch(index, true, List.of());
            }
            List<Event> batch = events.stream()
                    .skip(Math.max(0, events.size() - (index - seen)))
                    .limit(LONGEST_BATCH)
                    .toList();
            return new EventBatch(batch.isEmpty() ? index : batch.getLast().index(), false, batch);
        } finally {
            lock.unlock();
        }
    }

    /** Ends all waits; from now on no call waits. */
    public void close() {
        lock.lock();
        try {
            closed = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Waiters now, an estimate for metrics. */
    public int waiting() {
        lock.lock();
        try {
            return lock.getWaitQueueLength(changed);
        } finally {
            lock.unlock();
        }
    }
}
