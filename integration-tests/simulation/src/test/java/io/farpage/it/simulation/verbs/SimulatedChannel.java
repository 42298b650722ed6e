package io.farpage.it.simulation.verbs;

import io.farpage.it.simulation.engine.Descriptors;
import io.farpage.linux.PollSet;
import io.farpage.verbs.CompletionChannel;

/** Wakes the thread that waits for completions. */
final class SimulatedChannel implements CompletionChannel {
    private final int fd = Descriptors.open(this, this::hasEvent);
    private boolean event;

    private boolean hasEvent() {
        return event;
    }

    void raise() {
        event = true;
        Descriptors.changed(fd);
    }

    @Override
    public void addTo(PollSet set) {
        set.add(fd, PollSet.POLLIN);
    }

    @Override
    public boolean polled(PollSet set) {
        return take();
    }

    @Override
    public boolean await(long timeoutNanos) {
        if (timeoutNanos != 0 && !event) {
            Descriptors.await(new int[] {fd}, 1, timeoutNanos);
        }
        return take();
    }

    private boolean take() {
        boolean came = event;
        event = false;
        return came;
    }

    @Override
    public void close() {
        Descriptors.close(fd);
    }
}
