package io.farpage.verbs.soft;

import io.farpage.linux.PollSet;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Which of two threads serves a connection: the responder's, or the one that polls for the completions of receives. The
 * responder's passes the turn, the polling thread gives it back; any thread may give it back to end the connection.
 */
final class Turn {
    /** Messages without another request between them, after which the responder's thread passes the turn. */
    static final int MESSAGES = 8;

    /** How long bytes wait in the socket if the polling thread does not poll; longer after a while without either. */
    private static final long WATCH_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    private static final long LONGEST_WATCH_NANOS = 8 * WATCH_NANOS;

    private static final int NOT_ADDED = -1;

    private final CompletionSink sink;
    private final boolean mayPass;
    private volatile boolean polled;
    private volatile @Nullable Thread waiting;

    // ---- the polling thread's

    private int index = NOT_ADDED;
    private boolean readable;

    /**
     * @param sink of the queue that the polling thread polls
     * @param mayPass whether the connection can be served by another thread than the responder's
     */
    Turn(CompletionSink sink, boolean mayPass) {
        this.sink = sink;
        this.mayPass = mayPass && sink.hasChannel();
    }

    // ---- the responder's thread

    /** Passes the turn to the polling thread. Returns whether that may be. */
    boolean pass() {
        if (!mayPass) {
            return false;
        }
        waiting = Thread.currentThread();
        synchronized (this) {
            polled = true;
            sink.polled().incrementAndGet();
        }
        sink.wake(); // so that it sleeps on the socket, too
        return true;
    }

    /** Waits until the turn is given back. Takes it if bytes wait and the polling thread does not poll. */
    void await(ResponderConnection connection) {
        long polls = sink.polls();
        long watch = WATCH_NANOS;
        while (polled && !connection.isStopping()) {
            LockSupport.parkNanos(this, watch);
            long now = sink.polls();
            watch = now == polls ? Math.min(2 * watch, LONGEST_WATCH_NANOS) : WATCH_NANOS;
            if (now == polls && polled && connection.isReadable() && sink.polls() == polls) {
                giveBack();
            }
            polls = now;
        }
        giveBack();
    }

    /** The turn is the responder's thread's from now on. Any thread; waits for the end of a poll. */
    synchronized void giveBack() {
        if (polled) {
            polled = false;
            sink.polled().decrementAndGet();
            LockSupport.unpark(waiting);
        }
    }

    // ---- the polling thread

    void addTo(PollSet set, ResponderConnection connection) {
        index = NOT_ADDED;
        if (polled) {
            synchronized (this) {
                index = polled ? connection.addTo(set) : NOT_ADDED;
            }
        }
    }

    void polled(PollSet set) {
        if (index != NOT_ADDED) {
            readable |= set.ready(index) != 0;
            index = NOT_ADDED;
        }
    }

    /**
     * Serves the connection, if it is the polling thread's turn, and there is something to serve.
     *
     * @param all whether there may be something though the socket was not seen to be readable
     * @param service whether the polling thread keeps the turn after it
     */
    void take(boolean all, BooleanSupplier service) {
        if (!polled || !(all || readable)) {
            return;
        }
        readable = false;
        synchronized (this) {
            if (polled && !service.getAsBoolean()) {
                giveBack();
            }
        }
    }
}
