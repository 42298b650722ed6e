package io.farpage.verbs.soft;

/**
 * Whether a poll has anything to do for a queue pair, so that polling costs an idle one a field read. Set by any
 * thread, cleared by the thread that polls.
 */
final class PendingWork {
    private final QpQueues queues;
    private volatile boolean sends;
    private volatile boolean receiveFlush;

    PendingWork(QpQueues queues) {
        this.queues = queues;
    }

    /** Whether there are sends to move or to flush. */
    boolean hasSends() {
        return sends;
    }

    void setSends(boolean outstanding) {
        sends = outstanding;
    }

    /** Whether there are receives to flush. */
    boolean hasReceiveFlush() {
        return receiveFlush;
    }

    void setReceiveFlush(boolean outstanding) {
        receiveFlush = outstanding;
    }

    /** Has the next poll flush receives, and ends a sleep of its thread. */
    void flushReceives() {
        receiveFlush = true;
        queues.receives().wake();
    }

    /** Has the next poll flush sends and receives, and ends a sleep of its thread. */
    void flushAll() {
        sends = true;
        queues.sends().wake();
        flushReceives();
    }

    void clear() {
        sends = false;
        receiveFlush = false;
    }
}
