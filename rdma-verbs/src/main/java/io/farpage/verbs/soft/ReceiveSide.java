package io.farpage.verbs.soft;

import io.farpage.verbs.AsyncEvent;
import io.farpage.verbs.QpOptions.Sizes;
import io.farpage.verbs.QpState;
import io.farpage.verbs.VerbsException;
import io.farpage.verbs.WcOpcode;
import io.farpage.verbs.WcStatus;
import io.farpage.verbs.WorkCompletion;

/** The receives of a queue pair, its own or a shared queue's, from their posting to their completion. */
final class ReceiveSide implements ReceiveCompletions.Origin {
    private static final int EINVAL = 22;

    private final QpInit init;
    private final QpLifecycle lifecycle;
    private final PendingWork pending;
    private final ReceiveQueue queue;
    private final boolean isShared;
    private final CompletionSink completions;

    ReceiveSide(QpInit init, QpLifecycle lifecycle, PendingWork pending) {
        this.init = init;
        this.lifecycle = lifecycle;
        this.pending = pending;
        this.completions = init.queues().receives();
        this.isShared = init.queues().shared().isPresent();
        Sizes sizes = init.options().sizes();
        this.queue = init.queues()
                .shared()
                .orElseGet(() -> new ReceiveQueue(init.toString(), sizes.maxRecvWr(), sizes.maxSge()));
    }

    @Override
    public ReceiveQueue queue() {
        return queue;
    }

    @Override
    public int qpn() {
        return init.qpn();
    }

    @Override
    public int generation() {
        return lifecycle.generation();
    }

    /** The queue to prepare receives on. */
    ReceiveQueue requireOwn() {
        if (isShared) {
            throw new VerbsException(
                    "post_recv on " + init + ": EINVAL; its receives come from " + queue.owner()
                            + "; post them on that queue",
                    EINVAL);
        }
        return queue;
    }

    void post() {
        requireOwn();
        if (lifecycle.state() == QpState.RESET) {
            queue.unprepare();
            throw new VerbsException(
                    "post_recv on " + init + ": EINVAL; it is " + (lifecycle.isClosed() ? "closed" : "in RESET")
                            + ", receives need INIT or later",
                    EINVAL);
        }
        queue.post();
        flushIfFailed();
    }

    /** In ERR, has the next poll flush receives. Any thread. */
    void flushIfFailed() {
        if (lifecycle.state() == QpState.ERR) {
            pending.flushReceives();
        }
    }

    /** Completes a receive that {@link ReceiveQueue#acquire} returned. {@link #wake} follows. */
    void complete(int slot, WcStatus status, int length) {
        boolean added = completions.receives().add(this, generation(), slot, queue.wrId(slot), status, length);
        if (!added) {
            init.device().raise(new AsyncEvent(AsyncEvent.Type.CQ_ERR, 0));
        }
    }

    /** Ends a sleep of the thread that polls for completions of receives. */
    void wake() {
        completions.wake();
    }

    CompletionSink completions() {
        return completions;
    }

    boolean isShared() {
        return isShared;
    }

    /**
     * Completes the receives that are left in ERR, behind those that a responder completed. Called only when no
     * responder uses a receive.
     *
     * @return the number of completions in {@code into}
     */
    int flush(WorkCompletion[] into, int count) {
        if (!completions.receives().isEmpty()) {
            return count;
        }
        pending.setReceiveFlush(false);
        if (lifecycle.state() != QpState.ERR || isShared) {
            return count;
        }
        int n = count;
        while (n < into.length) {
            int slot = queue.acquire();
            if (slot == ReceiveQueue.NONE) {
                return n;
            }
            into[n++].set(queue.wrId(slot), WcStatus.WR_FLUSH_ERR, WcOpcode.RECV, 0, 0, init.qpn());
            queue.release(slot);
        }
        pending.setReceiveFlush(true);
        return n;
    }

    /** Discards posted receives, unless they are a shared queue's. */
    void clear() {
        if (!isShared) {
            queue.clear();
        }
    }
}
