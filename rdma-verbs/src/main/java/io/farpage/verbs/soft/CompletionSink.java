package io.farpage.verbs.soft;

import io.farpage.linux.Errno;
import io.farpage.linux.EventFd;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/** What queue pairs have of a completion queue: receives complete to it, and a sleep of its thread ends. */
final class CompletionSink {
    private final ReceiveCompletions receives;
    private final Optional<EventFd> channel;
    private final AtomicBoolean armed = new AtomicBoolean();
    private final AtomicInteger polled = new AtomicInteger();
    private volatile long polls;

    /** Whether a queue pair was given work to send since this was last cleared; of the thread that polls. */
    private boolean posted;

    /**
     * @param capacity receives that wait to be polled, at most
     * @param channel ends a sleep of the queue's thread; empty if it does not sleep
     */
    CompletionSink(int capacity, Optional<EventFd> channel) {
        this.receives = new ReceiveCompletions(capacity);
        this.channel = channel;
    }

    ReceiveCompletions receives() {
        return receives;
    }

    /** Connections that the queue's thread serves. Any thread. */
    AtomicInteger polled() {
        return polled;
    }

    /** Polls so far. Any thread. */
    long polls() {
        return polls;
    }

    /** The queue's thread polls. */
    @SuppressWarnings("NonAtomicVolatileUpdate") // of one thread
    void onPoll() {
        polls++;
    }

    /** Whether the queue's thread has a channel to sleep in. */
    boolean hasChannel() {
        return channel.isPresent();
    }

    /** The next completion ends a sleep. */
    void arm() {
        armed.set(true);
    }

    /** A completion other than of a send has come: ends a sleep, if the queue is armed. Any thread. */
    void wake() {
        if (channel.isPresent() && armed.get() && armed.compareAndSet(true, false)) {
            channel.get().signal(Errno.ofThread());
        }
    }

    /** A queue pair was given work to send, by the thread that polls this queue. */
    void onPosted() {
        posted = true;
    }

    boolean hasPosted() {
        return posted;
    }

    void clearPosted() {
        posted = false;
    }
}
