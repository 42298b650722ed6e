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
    private boolean ended;

    /** @param told signalled when the wait is over */
    EventWaiter(EventFilter filter, Condition told) {
        this.filter = filter;
        this.told = told;
    }

    EventFilter filter() {
        return filter;
    }

    void tell(Event event) {
        events.add(event);
        end();
    }

    /** Ends the wait. */
    void end() {
        ended = true;
        told.signal();
    }

    List<Event> events() {
        return events;
    }

    /** Waits until an event was told or the wait was ended. */
    void await(long nanos) throws InterruptedException {
        long left = nanos;
        while (!ended && left > 0) {
            left = told.awaitNanos(left);
        }
    }
}
