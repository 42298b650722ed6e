package io.farpage.verbs.soft;

import io.farpage.linux.EventFd;
import io.farpage.linux.PollSet;
import io.farpage.verbs.CompletionQueue;
import io.farpage.verbs.VerbsException;
import io.farpage.verbs.WorkCompletion;
import java.util.Arrays;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A completion queue. A poll reads the replies of each queue pair and completes its sends. Responders complete
 * receives; a poll reads them from {@link CompletionSink}.
 */
final class SoftCompletionQueue implements CompletionQueue {
    private static final int ENOMEM = 12;
    /** With more queue pairs than this, checking each before a sleep costs more than it saves. */
    private static final int FEW = 8;
    /** Polls without a sleep after which connections are looked at. */
    private static final int POLLS_PER_LOOK = 4;

    private final SoftContext device;
    private final int number;
    private final int capacity;
    private final CompletionSink sink;
    private final Consumer<SoftCompletionQueue> onClose;
    private final OpenChildren users;

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

    private boolean askedSinceRest = true;

    /** Whether a socket has become readable in a sleep, and the queue was not polled since. */
    private boolean woken;

    /** Whether the thread has slept since the last poll. */
    private boolean slept;

    private int unslept;

    SoftCompletionQueue(
            SoftContext device,
            int number,
            int capacity,
            Optional<EventFd> channel,
            Consumer<SoftCompletionQueue> onClose) {
        this.device = device;
        this.number = number;
        this.capacity = capacity;
        this.sink = new CompletionSink(capacity, channel);
        this.onClose = onClose;
        this.users = new OpenChildren(toString());
    }

    CompletionSink sink() {
        return sink;
    }

    SoftContext device() {
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
                .filter(q -> q.queues().sends() == sink)
                .mapToLong(q -> q.options().sizes().maxSendWr())
                .sum();
        long own = Arrays.stream(all)
                .filter(q ->
                        q.queues().receives() == sink && q.queues().shared().isEmpty())
                .mapToLong(q -> q.receives().capacity())
                .sum();
        long shared = Arrays.stream(all)
                .filter(q ->
                        q.queues().receives() == sink && q.queues().shared().isPresent())
                .map(SoftQueuePair::receives)
                .distinct()
                .mapToLong(ReceiveQueue::capacity)
                .sum();
        return sends + own + shared;
    }

    @Override
    public int poll(WorkCompletion[] into) {
        SoftQueuePair[] all = queuePairs;
        if (sink.polled().get() > 0) {
            serve(all);
        }
        ReceiveCompletions receives = sink.receives();
        int count = receives.isEmpty() ? 0 : receives.drain(into, 0);
        int length = all.length;
        if (length == 0) {
            return count;
        }
        boolean rest = resting;
        resting = false;
        boolean ended = woken;
        woken = false;
        askedSinceRest |= !rest;
        // Begins with another queue pair each time, so that none can keep the others waiting.
        int begin = first >= length ? 0 : first;
        first = begin + 1;
        for (int i = 0; i < length && count < into.length; i++) {
            int at = begin + i < length ? begin + i : begin + i - length;
            SoftQueuePair queuePair = all[at];
            if (queuePair.pending().hasSends() && queuePair.queues().sends() == sink) {
                count = queuePair.initiator().poll(into, count, rest, ended);
            }
            if (queuePair.pending().hasReceiveFlush() && queuePair.queues().receives() == sink) {
                count = queuePair.flushReceives(into, count);
            }
        }
        return count;
    }

    /**
     * Serves the connections of peers that only send messages. After a sleep that is those which it has shown to be
     * readable. Between arming and sleeping there is no need to look, unless the thread does not sleep.
     */
    private void serve(SoftQueuePair[] all) {
        sink.onPoll();
        boolean looks = !slept && ++unslept % POLLS_PER_LOOK == 0;
        slept = false;
        for (SoftQueuePair queuePair : all) {
            Responder responder = responder(queuePair);
            if (responder != null) {
                responder.poll(looks);
            }
        }
    }

    /** What may be served by the thread that polls this queue. */
    private @Nullable Responder responder(SoftQueuePair of) {
        return of.queues().receives() == sink ? of.responder() : null;
    }

    @Override
    public void requestNotification() {
        if (!sink.hasChannel()) {
            throw new IllegalStateException(this + " was created without a completion channel");
        }
        sink.arm();
        resting = sink.hasPosted() && askedSinceRest;
        if (resting) {
            sink.clearPosted();
            askedSinceRest = false;
        }
    }

    /**
     * A sleep of the queue's thread has ended. On that thread.
     *
     * @param ofSocket whether a socket of the queue has become readable
     */
    void onWoken(boolean ofSocket) {
        sink.clearPosted();
        woken |= ofSocket;
    }

    /** Adds the sockets of connections that the queue's thread serves. */
    void addResponders(PollSet set) {
        if (sink.polled().get() > 0) {
            for (SoftQueuePair queuePair : queuePairs) {
                Responder responder = responder(queuePair);
                if (responder != null) {
                    responder.addTo(set);
                }
            }
        }
    }

    /** The thread has slept on a set since {@link #addResponders}. */
    void polledResponders(PollSet set) {
        slept = true;
        if (sink.polled().get() > 0) {
            for (SoftQueuePair queuePair : queuePairs) {
                Responder responder = responder(queuePair);
                if (responder != null) {
                    responder.polled(set);
                }
            }
        }
    }

    /** Adds the sockets by which this queue's sends continue. */
    void addSockets(PollSet set) {
        for (SoftQueuePair queuePair : queuePairs) {
            if (queuePair.queues().sends() == sink) {
                queuePair.initiator().addTo(set);
            }
        }
    }

    /**
     * The initiator of the only queue pair that can complete something to these queues; null if there are several, or
     * none.
     *
     * @param mayDelayReceives whether receives that are posted do not count
     */
    static @Nullable Initiator onlyActive(SoftCompletionQueue[] queues, boolean mayDelayReceives) {
        Initiator only = null;
        int seen = 0;
        for (SoftCompletionQueue queue : queues) {
            if (!queue.sink.receives().isEmpty()) {
                return null;
            }
            for (SoftQueuePair queuePair : queue.queuePairs) {
                if (++seen > FEW
                        || queuePair.pending().hasReceiveFlush()
                        || (!mayDelayReceives
                                && queuePair.queues().receives() == queue.sink
                                && !queuePair.receives().isEmpty())) {
                    return null;
                }
                if (queuePair.pending().hasSends() && queuePair.queues().sends() == queue.sink) {
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
            if (queuePair.queues().sends() == sink) {
                due = queuePair.initiator().due(now, due);
            }
        }
        return due;
    }

    @Override
    public void close() {
        if (users.close()) {
            onClose.accept(this);
        }
    }

    @Override
    public String toString() {
        return "cq " + number + " of " + device;
    }
}
