package io.farpage.it.simulation.verbs;

import io.farpage.it.simulation.engine.Descriptors;
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
    public int fileDescriptor() {
        return fd;
    }

    @Override
    public boolean await(long timeoutNanos) {
        if (timeoutNanos != 0 && !event) {
            Descriptors.await(new int[] {fd}, 1, timeoutNanos);
        }
        boolean came = event;
        event = false;
        return came;
    }

    @Override
    public void close() {
        Descriptors.close(fd);
    }
}
