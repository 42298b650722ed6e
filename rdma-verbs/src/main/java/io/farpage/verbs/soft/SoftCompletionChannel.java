package io.farpage.verbs.soft;

import io.farpage.verbs.CompletionChannel;
import java.util.Arrays;
import java.util.function.Consumer;

/**
 * Where the thread of completion queues sleeps. The expiry of an initiator's timer makes no descriptor readable. So a
 * thread that polls the channel among other descriptors also has to poll the completion queue now and then while work
 * is outstanding; {@link #await} does so by itself.
 */
final class SoftCompletionChannel implements CompletionChannel {
    private final SoftContext device;
    private final int number;
    private final Consumer<SoftCompletionChannel> onClose;
    private final OpenChildren users;
    private final ChannelPoll poll = new ChannelPoll();
    private volatile SoftCompletionQueue[] queues = {};

    SoftCompletionChannel(SoftContext device, int number, Consumer<SoftCompletionChannel> onClose) {
        this.device = device;
        this.number = number;
        this.onClose = onClose;
        this.users = new OpenChildren(toString());
    }

    SoftContext device() {
        return device;
    }

    ChannelPoll poll() {
        return poll;
    }

    synchronized void add(SoftCompletionQueue queue) {
        users.add(queue);
        queues = Arrays.copyOf(queues, queues.length + 1);
        queues[queues.length - 1] = queue;
    }

    synchronized void remove(SoftCompletionQueue queue) {
        users.remove(queue);
        queues = Arrays.stream(queues).filter(q -> q != queue).toArray(SoftCompletionQueue[]::new);
    }

    @Override
    public int fileDescriptor() {
        return poll.expose();
    }

    @Override
    public boolean await(long timeoutNanos) {
        long now = System.nanoTime();
        if (timeoutNanos > InitiatorConnection.LONGEST_SLEEP.toNanos()) {
            Initiator only = SoftCompletionQueue.onlyActive(queues);
            // Two system calls fewer, and one wake-up instead of two stacked ones.
            if (only != null && only.sleepInReceive(now)) {
                return true;
            }
        }
        long end = now + Math.min(timeoutNanos, Long.MAX_VALUE / 4);
        long due = end;
        for (SoftCompletionQueue queue : queues) {
            due = queue.due(now, due);
            queue.arm();
        }
        int ready = poll.await(due - now);
        if (ready <= 0) {
            // An initiator's timer has expired: the completion queue has to be polled, though no descriptor is
            // readable.
            return due - end < 0;
        }
        for (SoftCompletionQueue queue : queues) {
            queue.onWoken();
        }
        return poll.hasCome(ready);
    }

    @Override
    public void close() {
        if (users.close()) {
            poll.close();
            onClose.accept(this);
        }
    }

    @Override
    public String toString() {
        return "completion channel " + number + " of " + device;
    }
}
