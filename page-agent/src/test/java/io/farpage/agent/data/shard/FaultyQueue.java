package io.farpage.agent.data.shard;

import io.farpage.verbs.CompletionQueue;
import io.farpage.verbs.VerbsException;
import io.farpage.verbs.WorkCompletion;
import java.util.ArrayList;
import java.util.List;

/** A completion queue that can be made to fail, as that of a device that was removed, or to hold completions back. */
final class FaultyQueue implements CompletionQueue {
    private final CompletionQueue queue;
    final List<WorkCompletion> held = new ArrayList<>();
    boolean fails;
    boolean holds;

    FaultyQueue(CompletionQueue queue) {
        this.queue = queue;
    }

    @Override
    public int capacity() {
        return queue.capacity();
    }

    @Override
    public int poll(WorkCompletion[] into) {
        if (fails) {
            throw new VerbsException("poll_cq on a failing queue: -1");
        }
        if (!holds) {
            return queue.poll(into);
        }
        WorkCompletion[] one = WorkCompletion.array(1);
        if (queue.poll(one) == 1) {
            held.add(one[0]);
        }
        return 0;
    }

    @Override
    public void requestNotification() {
        queue.requestNotification();
    }

    @Override
    public void close() {}
}
