package io.farpage.it.simulation.verbs;

import io.farpage.verbs.CompletionQueue;
import io.farpage.verbs.WcOpcode;
import io.farpage.verbs.WcStatus;
import io.farpage.verbs.WorkCompletion;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;

/** A completion queue. */
final class SimulatedCompletions implements CompletionQueue {
    private final int capacity;
    private final Optional<SimulatedChannel> channel;
    private final Deque<Entry> entries = new ArrayDeque<>();
    private boolean armed;

    private record Entry(SimulatedQueuePair queuePair, long wrId, WcStatus status, WcOpcode opcode, int length) {}

    SimulatedCompletions(int capacity, Optional<SimulatedChannel> channel) {
        this.capacity = capacity;
        this.channel = channel;
    }

    void add(SimulatedQueuePair queuePair, long wrId, WcStatus status, WcOpcode opcode, int length) {
        entries.add(new Entry(queuePair, wrId, status, opcode, length));
        if (armed) {
            armed = false;
            channel.ifPresent(SimulatedChannel::raise);
        }
    }

    void drop(SimulatedQueuePair queuePair) {
        entries.removeIf(entry -> entry.queuePair() == queuePair);
    }

    @Override
    public int capacity() {
        return capacity;
    }

    @Override
    public int poll(WorkCompletion[] into) {
        int count = 0;
        while (count < into.length && !entries.isEmpty()) {
            Entry entry = entries.remove();
            into[count++].set(
                    entry.wrId(),
                    entry.status(),
                    entry.opcode(),
                    0,
                    entry.length(),
                    entry.queuePair().qpn());
        }
        return count;
    }

    @Override
    public void requestNotification() {
        armed = true;
    }

    @Override
    public void close() {}
}
