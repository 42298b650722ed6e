package io.farpage.agent.data.shard;

import io.farpage.linux.PollSet;
import io.farpage.verbs.CompletionChannel;
import io.farpage.verbs.CompletionQueue;

/** A completion queue of a simulated device, for a test that polls it; its channel never becomes ready. */
public abstract class PolledQueue implements CompletionQueue, CompletionChannel {
    @Override
    public final int capacity() {
        return Integer.MAX_VALUE;
    }

    @Override
    public final void addTo(PollSet set) {
        // Its thread does not sleep.
    }

    @Override
    public final boolean polled(PollSet set) {
        return false;
    }

    @Override
    public final boolean await(long timeoutNanos) {
        return false;
    }

    @Override
    public final void requestNotification() {}

    @Override
    public final void close() {}
}
