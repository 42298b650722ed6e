package io.farpage.verbs.soft;

import io.farpage.linux.Errno;
import io.farpage.linux.Message;
import io.farpage.linux.PollSet;
import io.farpage.linux.SocketIo;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.QpOptions.Sizes;
import io.farpage.verbs.QpState;
import io.farpage.verbs.VerbsException;
import io.farpage.verbs.WcOpcode;
import io.farpage.verbs.WcStatus;
import io.farpage.verbs.WorkCompletion;

/**
 * The half of a queue pair that sends requests: when it sends, receives, gives up and completes.
 *
 * <p>Its monitor guards send queue and connection. The monitor is hardly ever contended: deregistration and close take
 * it to wait for a poll in progress. A caller that needs several steps at once synchronizes on this object. Only
 * {@link #sends()} is used without it, by the thread that posts.
 */
final class Initiator {
    private static final int EINVAL = 22;
    private static final long NEVER = -1;
    private static final int POLLS_PER_LOOK = 64;

    private final QpInit init;
    private final Regions regions;
    private final QpLifecycle lifecycle;
    private final PendingWork pending;
    private final ResponderSlot responders;
    private final BufferPool.Lease memory;
    private final SendQueue queue;
    private final InitiatorConnection connection;
    private final LocalFault fault = new LocalFault();
    private final RequestSender sender;
    private final ReplyReceiver receiver;
    private final InitiatorTimer timer;

    /** Position of the work request that failed, and how. */
    private long failedAt = NEVER;

    private WcStatus failedStatus = WcStatus.SUCCESS;
    private int failedDetail;
    /** Polls without a reply that was expected. */
    private int unexpected;

    Initiator(QpInit init, QpLifecycle lifecycle, PendingWork pending, ResponderSlot responders) {
        QpOptions options = init.options();
        Sizes sizes = options.sizes();
        this.init = init;
        this.regions = init.regions();
        this.lifecycle = lifecycle;
        this.pending = pending;
        this.responders = responders;
        this.memory = init.device().buffers().lease();
        this.queue = new SendQueue(init.toString(), sizes.maxSendWr(), sizes.maxSge(), sizes.maxInlineData(), memory);
        this.connection = new InitiatorConnection(init);
        this.sender =
                new RequestSender(queue, connection, fault, new Message(RequestSender.buffers(sizes.maxSge()), memory));
        this.receiver =
                new ReplyReceiver(queue, connection, fault, new Message(ReplyReceiver.buffers(sizes.maxSge()), memory));
        this.timer = new InitiatorTimer(options.retries());
        queue.reset(lifecycle.psn());
    }

    SendQueue sends() {
        return queue;
    }

    // ---- states

    /** Begins to connect to the peer, in RTS. */
    synchronized void connect() {
        connection.open(lifecycle.peerAddress(), lifecycle.hello(), lifecycle.initiatorProof());
        connection.advance();
    }

    synchronized void disconnect() {
        connection.close();
    }

    /** Discards all work requests; the next one goes out with the PSN of the queue pair. */
    synchronized void reset() {
        queue.reset(lifecycle.psn());
        sender.reset();
        receiver.reset();
        fault.clear();
        failedAt = NEVER;
        timer.progressed();
    }

    /** The queue pair is closed, and no completion queue polls it. */
    synchronized void close() {
        queue.close();
        memory.release();
    }

    /** Moves the queue pair to ERR and ends both connections. */
    synchronized void enterError() {
        connection.close();
        lifecycle.fail();
        responders.stop();
    }

    /** Regions were registered or deregistered. Once this returns, no poll uses one that it found before. */
    synchronized void regionsChanged() {
        receiver.regionsChanged();
    }

    // ---- posting and polling

    /** Posts what is prepared, and sends what may be sent now. */
    synchronized void post() {
        QpState state = lifecycle.state();
        if (state != QpState.RTS && state != QpState.ERR) {
            queue.prepared = queue.posted;
            throw new VerbsException(
                    "post_send on " + init + ": EINVAL; it is " + (lifecycle.isClosed() ? "closed" : "in " + state)
                            + ", sends need RTS",
                    EINVAL);
        }
        queue.posted = queue.prepared;
        pending.setSends(true);
        init.queues().sends().onPosted();
        if (connection.isReady()) {
            sender.send(regions.table());
        } else if (state == QpState.RTS) {
            advanceConnection();
        }
    }

    /**
     * Sends and receives, unless {@code resting} and all requests are sent; then reports completions.
     *
     * @param woken whether the socket may have become readable in a sleep
     * @return the number of completions in {@code into}
     */
    synchronized int poll(WorkCompletion[] into, int count, boolean resting, boolean woken) {
        if (lifecycle.state() == QpState.ERR) {
            connection.close();
        }
        boolean rest = resting && connection.isReady() && !sender.hasWork() && !connection.hasReceived();
        if (lifecycle.state() == QpState.RTS && queue.acked < queue.posted && !rest && (woken || looks())) {
            exchange();
        }
        int n = report(into, count);
        pending.setSends(!queue.isIdle());
        return n;
    }

    /** Whether a reply may have come. One that is not expected is looked for now and then. */
    private boolean looks() {
        return !isOnlyUnanswered() || ++unexpected % POLLS_PER_LOOK == 0;
    }

    /** Whether all that is posted is sent, and no reply to it is expected. */
    private boolean isOnlyUnanswered() {
        return connection.isReady() && !sender.hasWork() && !queue.awaitsReply() && !connection.hasReceived();
    }

    private void exchange() {
        boolean progressed = false;
        if (connection.isReady() || advanceConnection()) {
            RegionTable table = regions.table();
            if (sender.hasWork()) {
                progressed = sender.send(table);
            }
            progressed |= receive(table, SocketIo.MSG_DONTWAIT);
            // The socket does not become readable for what has left it already.
            while (connection.hasReceived() && receive(table, SocketIo.MSG_DONTWAIT)) {
                progressed = true;
            }
            if (progressed && queue.sent < queue.posted) {
                sender.send(table);
            }
        }
        if (fault.isAt(queue.sent) && !queue.awaitsReply()) {
            receiver.acknowledge(queue.sent);
        }
        if (fault.isAt(queue.acked)) {
            fail(WcStatus.LOC_PROT_ERR, 0);
        } else if (progressed || isOnlyUnanswered()) {
            timer.progressed();
        } else if (timer.isOver(queue)) {
            fail(WcStatus.RETRY_EXC_ERR, Errno.ETIMEDOUT);
        }
    }

    private boolean advanceConnection() {
        if (!connection.advance()) {
            return false;
        }
        sender.setMaxReads(
                Math.min(lifecycle.initiatorDepth(), connection.accepted().maxRdAtomic()));
        timer.connected(connection.accepted().minRnrTimer());
        return true;
    }

    private boolean receive(RegionTable table, int flags) {
        // A request may be refused before all of it is sent.
        long to = sender.end();
        if (queue.acked == to || fault.isAt(queue.acked)) {
            if (sender.isBroken()) {
                fail(WcStatus.RETRY_EXC_ERR, Errno.EPIPE);
            }
            return false;
        }
        boolean progressed = receiver.receive(to, table, flags);
        if (receiver.failure() != WcStatus.SUCCESS) {
            fail(receiver.failure(), receiver.failureDetail());
        }
        return progressed;
    }

    private void fail(WcStatus status, int detail) {
        if (lifecycle.state() == QpState.ERR) {
            return;
        }
        if (queue.acked < queue.posted) {
            failedAt = queue.acked;
            failedStatus = status;
            failedDetail = detail;
        }
        enterError();
    }

    private int report(WorkCompletion[] into, int count) {
        int n = count;
        while (queue.head < queue.acked && n < into.length) {
            int slot = queue.slot(queue.head);
            if (queue.isSignaled(slot)) {
                set(into[n++], slot, WcStatus.SUCCESS, 0);
            }
            queue.head++;
        }
        if (lifecycle.state() == QpState.ERR && queue.head >= queue.acked) {
            while (queue.head < queue.posted && n < into.length) {
                int slot = queue.slot(queue.head);
                boolean failed = queue.head == failedAt;
                set(into[n++], slot, failed ? failedStatus : WcStatus.WR_FLUSH_ERR, failed ? failedDetail : 0);
                queue.head++;
                queue.acked = queue.head;
                queue.sent = Math.max(queue.sent, queue.head);
            }
        }
        return n;
    }

    private void set(WorkCompletion completion, int slot, WcStatus status, int detail) {
        WcOpcode opcode = switch (queue.opcode(slot)) {
            case Wire.READ -> WcOpcode.RDMA_READ;
            case Wire.WRITE -> WcOpcode.RDMA_WRITE;
            default -> WcOpcode.SEND;
        };
        completion.set(queue.wrId(slot), status, opcode, detail, queue.length(slot), init.qpn());
    }

    // ---- sleeping

    /**
     * Adds the socket by which sends continue. If nothing is outstanding it is left out: were it broken, it would end
     * every sleep, and the next request finds that out. While only unanswered requests are, it ends a sleep if the
     * peer has refused one, or is gone.
     */
    void addTo(PollSet set) {
        if (pending.hasSends()) {
            synchronized (this) {
                if (isOnlyUnanswered()) {
                    connection.addEndTo(set);
                } else {
                    connection.addTo(set, sender.isBlocked());
                }
            }
        }
    }

    /**
     * When the queue pair has to be polled even if its socket does not become readable (nanoTime); not after
     * {@code latest}.
     */
    long due(long now, long latest) {
        if (!pending.hasSends()) {
            return latest;
        }
        synchronized (this) {
            long due = due(now);
            return due - latest < 0 ? due : latest;
        }
    }

    private long due(long now) {
        timer.hurry();
        if (lifecycle.state() != QpState.RTS || queue.acked == queue.posted) {
            return now;
        }
        if (isOnlyUnanswered()) {
            return now + Long.MAX_VALUE / 4;
        }
        long deadline = timer.deadline(queue, now);
        if (connection.hasReceived()) {
            return now;
        }
        long attempt = connection.nextAttempt(deadline);
        return attempt - deadline < 0 ? attempt : deadline;
    }

    /**
     * Sleeps in the call that receives the next reply, for {@link InitiatorConnection#LONGEST_SLEEP} at most. Only if
     * all requests that are posted are sent, and the queue pair need not be polled before that.
     *
     * @return whether it could sleep
     */
    synchronized boolean sleepInReceive(long now) {
        if (lifecycle.state() != QpState.RTS
                || !connection.isReady()
                || sender.hasWork()
                || !queue.awaitsReply()
                || due(now) - now <= InitiatorConnection.LONGEST_SLEEP.toNanos()) {
            return false;
        }
        if (receive(regions.table(), 0)) {
            timer.progressed();
        }
        return true;
    }
}
