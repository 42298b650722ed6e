package io.farpage.verbs.soft;

import io.farpage.verbs.CompletionQueue;
import io.farpage.verbs.VerbsException;
import io.farpage.verbs.WorkCompletion;
import java.util.Arrays;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * A completion queue. A poll reads the replies of each queue pair and completes its sends. Responders complete
 * receives; a poll reads them from {@link ReceiveCompletions}.
 */
final class SoftCompletionQueue implements CompletionQueue {
    private static final int ENOMEM = 12;
    /** With more queue pairs than this, checking each before a sleep costs more than it saves. */
    private static final int FEW = 8;

    private final SoftDevice device;
    private final int number;
    private final int capacity;
    private final Optional<SoftCompletionChannel> channel;
    private final ReceiveCompletions receives;
    private final OpenChildren users;
    private final AtomicBoolean armed = new AtomicBoolean();

    private volatile SoftQueuePair[] queuePairs = {};
    private int first;

    /**
     * Whether the next poll may leave the sockets out. A caller polls between arming and sleeping, to find what arrived
     * before it armed. A reply that waits in a socket ends the sleep at once, so reading the socket in that poll is a
     * system call for nothing. One poll may be left out after a post, and after each poll that read the sockets, so
     * that a caller that polls and never sleeps still gets its completions. After a sleep that a reply ended, the next
     * poll reads the sockets.
     */
    private boolean resting;

    private boolean postedSinceRest;
    private boolean askedSinceRest = true;

    SoftCompletionQueue(SoftDevice device, int number, int capacity, Optional<SoftCompletionChannel> channel) {
        this.device = device;
        this.number = number;
        this.capacity = capacity;
        this.channel = channel;
        this.receives = new ReceiveCompletions(capacity);
        this.users = new OpenChildren(toString());
    }

    Optional<SoftCompletionChannel> channel() {
        return channel;
    }

    ReceiveCompletions receives() {
        return receives;
    }

    SoftDevice device() {
        return device;
    }

    @Override
    public int capacity() {
        return capacity;
    }

    /**
     * Adds a queue pair.
     *
     * @throws VerbsException if the completions of all queue pairs could then exceed the capacity
     */
    synchronized void add(SoftQueuePair queuePair) {
        SoftQueuePair[] more = Arrays.copyOf(queuePairs, queuePairs.length + 1);
        more[queuePairs.length] = queuePair;
        long needed = demand(more);
        if (needed > capacity) {
            throw new VerbsException(
                    "create_qp on " + this + ": ENOMEM; its queue pairs could have " + needed
                            + " completions outstanding; create the completion queue with at least that many entries",
                    ENOMEM);
        }
        users.add(queuePair);
        queuePairs = more;
    }

    synchronized void remove(SoftQueuePair queuePair) {
        users.remove(queuePair);
        queuePairs = Arrays.stream(queuePairs).filter(q -> q != queuePair).toArray(SoftQueuePair[]::new);
    }

    private long demand(SoftQueuePair[] all) {
        long sends = Arrays.stream(all)
                .filter(q -> q.queues().sends() == this)
                .mapToLong(q -> q.options().sizes().maxSendWr())
                .sum();
        long own = Arrays.stream(all)
                .filter(q ->
                        q.queues().receives() == this && q.queues().shared().isEmpty())
                .mapToLong(q -> q.receives().capacity())
                .sum();
        long shared = Arrays.stream(all)
                .filter(q ->
                        q.queues().receives() == this && q.queues().shared().isPresent())
                .map(SoftQueuePair::receives)
                .distinct()
                .mapToLong(ReceiveQueue::capacity)
                .sum();
        return sends + own + shared;
    }

    @Override
    public int poll(WorkCompletion[] into) {
        int count = receives.isEmpty() ? 0 : receives.drain(into, 0);
        SoftQueuePair[] all = queuePairs;
        int length = all.length;
        if (length == 0) {
            return count;
        }
        boolean rest = resting;
        resting = false;
        askedSinceRest |= !rest;
        // Begins with another queue pair each time, so that none can keep the others waiting.
        int begin = first >= length ? 0 : first;
        first = begin + 1;
        for (int i = 0; i < length && count < into.length; i++) {
            int at = begin + i < length ? begin + i : begin + i - length;
            SoftQueuePair queuePair = all[at];
            if (queuePair.pending().hasSends() && queuePair.queues().sends() == this) {
                count = queuePair.initiator().poll(into, count, rest);
            }
            if (queuePair.pending().hasReceiveFlush() && queuePair.queues().receives() == this) {
                count = queuePair.flushReceives(into, count);
            }
        }
        return count;
    }

    @Override
    public void requestNotification() {
        if (channel.isEmpty()) {
            throw new IllegalStateException(this + " was created without a completion channel");
        }
        armed.set(true);
        if (channel.get().isExposed()) {
            arm();
        }
        resting = postedSinceRest && askedSinceRest;
        if (resting) {
            postedSinceRest = false;
            askedSinceRest = false;
        }
        if (!receives.isEmpty()) {
            wake();
        }
    }

    /** A completion other than of a send has come: ends a sleep, if the queue is armed. Any thread. */
    void wake() {
        if (channel.isPresent() && armed.get() && armed.compareAndSet(true, false)) {
            channel.get().signal();
        }
    }

    /** A queue pair was given work to send, by the thread that polls this queue. */
    void posted() {
        postedSinceRest = true;
    }

    /** A socket of the queue became readable while its thread slept. On that thread. */
    void woken() {
        postedSinceRest = false;
    }

    /** Makes the channel wake when this queue's sends can continue. */
    void arm() {
        for (SoftQueuePair queuePair : queuePairs) {
            if (queuePair.queues().sends() == this) {
                queuePair.initiator().arm();
            }
        }
    }

    /**
     * The initiator of the only queue pair that can complete something to these queues; null if there are several, or
     * none.
     */
    static @Nullable Initiator onlyActive(SoftCompletionQueue[] queues) {
        Initiator only = null;
        int seen = 0;
        for (SoftCompletionQueue queue : queues) {
            if (!queue.receives.isEmpty()) {
                return null;
            }
            for (SoftQueuePair queuePair : queue.queuePairs) {
                if (++seen > FEW
                        || queuePair.pending().hasReceiveFlush()
                        || (queuePair.queues().receives() == queue
                                && !queuePair.receives().isEmpty())) {
                    return null;
                }
                if (queuePair.pending().hasSends() && queuePair.queues().sends() == queue) {
                    if (only != null) {
                        return null;
                    }
                    only = queuePair.initiator();
                }
            }
        }
        return only;
    }

    /** When the queue has to be polled even if no socket becomes readable (nanoTime); {@code latest} at the latest. */
    long due(long now, long latest) {
        long due = latest;
        for (SoftQueuePair queuePair : queuePairs) {
            if (queuePair.queues().sends() == this) {
                due = queuePair.initiator().due(now, due);
            }
        }
        return due;
    }

    @Override
    public void close() {
        if (users.close()) {
            channel.ifPresent(c -> c.remove(this));
            device.children().remove(this);
        }
    }

    @Override
    public String toString() {
        return "cq " + number + " of " + device.name();
    }
}
