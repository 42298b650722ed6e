package io.farpage.verbs.soft;

import io.farpage.linux.Errno;
import io.farpage.linux.EventFd;
import io.farpage.linux.PollSet;
import io.farpage.verbs.CompletionChannel;
import java.util.Arrays;
import java.util.function.Consumer;

/**
 * Where the thread of completion queues sleeps: on the sockets where replies are expected, and on an event descriptor.
 * The expiry of an initiator's timer makes no descriptor readable. So a thread that waits on them beside others polls
 * the completion queue now and then while work is outstanding, and {@link #await} returns at that time by itself.
 */
final class SoftCompletionChannel implements CompletionChannel {
    private final SoftContext device;
    private final int number;
    private final Consumer<SoftCompletionChannel> onClose;
    private final OpenChildren users;
    private final EventFd event = new EventFd();
    private final Errno errno = Errno.create();
    private final PollSet poll = new PollSet(2);
    /** The descriptors in the set that they were last added to: the event, and behind it sockets up to the end. */
    private int firstIndex;

    private int respondersIndex;
    private int endIndex;
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

    /** Ends a sleep. */
    EventFd event() {
        return event;
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
    public void addTo(PollSet set) {
        firstIndex = set.add(event.fd(), PollSet.POLLIN);
        for (SoftCompletionQueue queue : queues) {
            queue.addSockets(set);
        }
        respondersIndex = set.size();
        for (SoftCompletionQueue queue : queues) {
            queue.addResponders(set);
        }
        endIndex = set.size();
    }

    @Override
    public boolean polled(PollSet set) {
        boolean ofSocket = false;
        for (int i = firstIndex + 1; i < respondersIndex; i++) {
            ofSocket |= set.ready(i) != 0;
        }
        boolean ofResponder = false;
        for (int i = respondersIndex; i < endIndex; i++) {
            ofResponder |= set.ready(i) != 0;
        }
        for (SoftCompletionQueue queue : queues) {
            queue.polledResponders(set);
        }
        boolean signaled = set.ready(firstIndex) != 0;
        if (!ofSocket && !ofResponder && !signaled) {
            return false;
        }
        if (signaled) {
            event.drain(errno);
        }
        for (SoftCompletionQueue queue : queues) {
            queue.onWoken(ofSocket);
        }
        return true;
    }

    @Override
    public boolean await(long timeoutNanos) {
        return await(timeoutNanos, false);
    }

    @Override
    public boolean awaitSends(long timeoutNanos) {
        return await(timeoutNanos, true);
    }

    private boolean await(long timeoutNanos, boolean mayDelayReceives) {
        long now = System.nanoTime();
        if (timeoutNanos > InitiatorConnection.LONGEST_SLEEP.toNanos()) {
            Initiator only = SoftCompletionQueue.onlyActive(queues, mayDelayReceives);
            // Two system calls fewer, and one wake-up instead of two stacked ones.
            if (only != null && only.sleepInReceive(now)) {
                return true;
            }
        }
        long end = now + Math.min(timeoutNanos, Long.MAX_VALUE / 4);
        long due = end;
        for (SoftCompletionQueue queue : queues) {
            due = queue.due(now, due);
        }
        poll.clear();
        addTo(poll);
        if (poll.await(Math.max(0, due - now)) <= 0) {
            // An initiator's timer has expired: the completion queue has to be polled, though no descriptor is
            // readable.
            return due - end < 0;
        }
        return polled(poll);
    }

    @Override
    public void close() {
        if (users.close()) {
            event.close();
            onClose.accept(this);
        }
    }

    @Override
    public String toString() {
        return "completion channel " + number + " of " + device;
    }
}
