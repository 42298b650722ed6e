package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.Event;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.Condition;

/** One watcher that waits for an event. Guarded by the lock of the {@link EventLog}. */
final class EventWaiter {

    private final EventFilter filter;
    private final Condition told;
    private final List<Event> events = new ArrayList<>();
    private boolean over;

    /** @param told signalled when the wait is over */
    EventWaiter(EventFilter filter, Condition told) {
        this.filter = filter;
        this.told = told;
    }

    EventFilter filter() {
        return filter;
    }

    /** Adds an event. The wait is over, unless the event {@linkplain Told#isDistantFrom may come a little later}. */
    void tell(Told event) {
        events.add(event.event());
        over |= !event.isDistantFrom(filter);
        told.signal();
    }

    /** Ends the wait. */
    void end() {
        over = true;
        told.signal();
    }

    boolean isOver() {
        return over;
    }

    List<Event> events() {
        return events;
    }

    /**
     * Waits until the wait is over, or until events that may come later have been collected for a while.
     *
     * @param nanos for the first event
     * @param collect nanoseconds, from the first event on
     */
    void await(long nanos, long collect) throws InterruptedException {
        long left = nanos;
        while (!over && events.isEmpty() && left > 0) {
            left = told.awaitNanos(left);
        }
        left = collect;
        while (!over && !events.isEmpty() && left > 0) {
            left = told.awaitNanos(left);
        }
    }
}
