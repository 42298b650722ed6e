package io.farpage.verbs.soft;

import io.farpage.linux.Errno;
import io.farpage.linux.Message;
import io.farpage.linux.SocketIo;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.QpState;
import io.farpage.verbs.WcOpcode;
import io.farpage.verbs.WcStatus;
import io.farpage.verbs.WorkCompletion;

/**
 * Sends a queue pair's requests and receives their replies, without blocking. Guarded by the queue pair's lock.
 *
 * <p>Replies come in the order of requests, so the destination of every byte is known before it arrives: one receive scatters headers and pages of
 * many replies to their destinations. A reply that is not the expected one ends the connection. Bytes behind it can land only in the destinations of
 * work requests that then fail.
 */
final class Initiator {
    private static final int OUT_BUFFERS = 128;
    private static final long OUT_BYTES = 256 * 1024;
    private static final int IN_BUFFERS = 128;
    private static final long IN_BYTES = 256 * 1024;
    private static final long NEVER = -1;

    private final SoftQueuePair queuePair;
    private final SendQueue queue;
    private final InitiatorConnection connection;
    private final Errno errno;
    private final Message out;
    private final Message in;
    private final int maxSge;
    private final RequesterTimer timer;

    /** Bytes of request {@code sent} that are sent, and of reply {@code acked} that are received. */
    private long sentBytes;

    private long ackedBytes;
    private long readsSent;
    private long readsAcked;
    private int maxReads = 1;

    /** The range that {@link #in} was built for; it is valid while these do not change. */
    private long inBegin = NEVER;

    private long inEnd;
    private RegionTable inTable = RegionTable.EMPTY;

    private boolean sendBroken;
    private boolean blocked;

    /** Position of a work request that fails on this side once all before it have completed. */
    private long faultAt = NEVER;

    private WcStatus faultStatus = WcStatus.SUCCESS;

    /** Position of the work request that failed, and how. */
    private long failedAt = NEVER;

    private WcStatus failedStatus = WcStatus.SUCCESS;
    private int failedDetail;

    Initiator(SoftQueuePair queuePair, SendQueue queue, InitiatorConnection connection, Errno errno) {
        QpOptions options = queuePair.options();
        this.queuePair = queuePair;
        this.queue = queue;
        this.connection = connection;
        this.errno = errno;
        this.maxSge = options.maxSge();
        this.out = new Message(OUT_BUFFERS + 1 + maxSge);
        this.in = new Message(IN_BUFFERS + 1 + maxSge);
        this.timer = new RequesterTimer(options);
    }

    void reset(int psn) {
        queue.reset(psn);
        sentBytes = 0;
        ackedBytes = 0;
        readsSent = 0;
        readsAcked = 0;
        sendBroken = false;
        blocked = false;
        inBegin = NEVER;
        inTable = RegionTable.EMPTY;
        faultAt = NEVER;
        failedAt = NEVER;
        timer.progressed();
    }

    /** Sends what may be sent now; called when something was posted. */
    void push() {
        if (connection.isReady()) {
            send(queuePair.regions());
        } else if (queuePair.state() == QpState.RTS) {
            advanceConnection();
        }
    }

    /**
     * Sends and receives, unless {@code resting} and all requests are sent; then reports completions.
     *
     * @return the number of completions in {@code into}
     */
    int poll(WorkCompletion[] into, int count, boolean resting) {
        boolean rest = resting && connection.isReady() && queue.sent == queue.posted;
        if (queuePair.state() == QpState.RTS && queue.acked < queue.posted && !rest) {
            exchange();
        }
        return report(into, count);
    }

    /** Regions were registered or deregistered: vectors that were built with the old ones are void. */
    void regionsChanged() {
        inBegin = NEVER;
    }

    /** Whether there is something to send that the socket does not take. */
    boolean isBlocked() {
        return blocked;
    }

    /** When the queue pair has to be polled even if its socket does not become readable (nanoTime). */
    long due(long now) {
        timer.hurry();
        if (queuePair.state() != QpState.RTS || queue.acked == queue.posted) {
            return now;
        }
        long deadline = timer.deadline(queue, now);
        long attempt = connection.nextAttempt(deadline);
        return attempt - deadline < 0 ? attempt : deadline;
    }

    /**
     * Sleeps in the call that receives the next reply, for {@link InitiatorConnection#LONGEST_SLEEP} at most. Only if all requests that are posted are sent,
     * and the queue pair need not be polled before that.
     *
     * @return whether it could sleep
     */
    boolean sleepInReceive(long now) {
        if (queuePair.state() != QpState.RTS
                || !connection.isReady()
                || queue.sent < queue.posted
                || queue.acked == queue.posted
                || due(now) - now <= InitiatorConnection.LONGEST_SLEEP.toNanos()) {
            return false;
        }
        if (receive(queuePair.regions(), 0)) {
            timer.progressed();
        }
        return true;
    }

    private void exchange() {
        boolean progressed = false;
        if (connection.isReady() || advanceConnection()) {
            RegionTable table = queuePair.regions();
            if (queue.sent < queue.posted) {
                progressed = send(table);
            }
            progressed |= receive(table, SocketIo.MSG_DONTWAIT);
            if (progressed && queue.sent < queue.posted) {
                send(table);
            }
        }
        if (faultAt == queue.acked && faultAt != NEVER) {
            fail(faultStatus, 0);
        } else if (progressed) {
            timer.progressed();
        } else if (timer.isOver(queue)) {
            fail(WcStatus.RETRY_EXC_ERR, Errno.ETIMEDOUT);
        }
    }

    private boolean advanceConnection() {
        if (!connection.advance()) {
            return false;
        }
        maxReads = Math.min(queuePair.initiatorDepth(), connection.accepted().maxRdAtomic());
        timer.connected(connection.accepted().minRnrTimer());
        return true;
    }

    // ---- requests out

    private boolean send(RegionTable table) {
        boolean progressed = false;
        while (!sendBroken && queue.sent < queue.posted) {
            gather(table);
            if (out.count() == 0) {
                break;
            }
            long result = out.count() == 1
                    ? SocketIo.send(errno, connection.fd(), out.firstBase(), out.bytes(), SocketIo.MSG_DONTWAIT)
                    : SocketIo.sendmsg(errno, connection.fd(), out, SocketIo.MSG_DONTWAIT);
            if (result == -Errno.EAGAIN) {
                blocked = true;
                break;
            }
            blocked = false;
            if (result < 0) {
                // A refusal may have come before the connection broke; receiving finds it.
                sendBroken = result != -Errno.EINTR;
                break;
            }
            progressed = true;
            boolean all = result == out.bytes();
            advanceSent(result);
            if (!all) {
                break;
            }
        }
        return progressed;
    }

    private void gather(RegionTable table) {
        out.clear();
        long reads = readsSent - readsAcked;
        long skip = sentBytes;
        for (long at = queue.sent; at < queue.posted && out.count() < OUT_BUFFERS && out.bytes() < OUT_BYTES; at++) {
            int slot = queue.slot(at);
            boolean isRead = Wire.isReadOrAtomic(queue.opcode(slot));
            if (at == faultAt) {
                return;
            }
            if (skip == 0 && ((isRead && reads >= maxReads) || (queue.isFenced(slot) && reads > 0))) {
                return;
            }
            if (!queue.permitted(slot, table)) {
                fault(at, WcStatus.LOC_PROT_ERR);
                return;
            }
            reads += isRead ? 1 : 0;
            addRequest(slot, skip);
            skip = 0;
        }
    }

    private void addRequest(int slot, long skip) {
        long rest = skip;
        if (rest < Wire.REQUEST_SIZE) {
            out.append(queue.requestAddress(slot) + rest, Wire.REQUEST_SIZE - rest);
            rest = 0;
        } else {
            rest -= Wire.REQUEST_SIZE;
        }
        int opcode = queue.opcode(slot);
        if (opcode == Wire.READ) {
            return;
        }
        if (queue.isInline(slot) || Wire.isAtomic(opcode)) {
            int length = queue.outgoing(slot);
            if (length > rest) {
                out.append(queue.inlineAddress(slot) + rest, length - rest);
            }
            return;
        }
        for (int i = 0; i < queue.sgeCount(slot); i++) {
            int length = queue.sgeLength(slot, i);
            if (length > rest) {
                out.append(queue.sgeAddress(slot, i) + rest, length - rest);
                rest = 0;
            } else {
                rest -= length;
            }
        }
    }

    private void advanceSent(long bytes) {
        long rest = sentBytes + bytes;
        while (queue.sent < queue.posted) {
            int slot = queue.slot(queue.sent);
            long size = Wire.REQUEST_SIZE + (long) queue.outgoing(slot);
            if (rest < size) {
                break;
            }
            rest -= size;
            readsSent += Wire.isReadOrAtomic(queue.opcode(slot)) ? 1 : 0;
            queue.sent++;
        }
        sentBytes = rest;
    }

    // ---- replies in

    private boolean receive(RegionTable table, int flags) {
        // A request may be refused before all of it is sent.
        long to = queue.sent + (sentBytes > 0 ? 1 : 0);
        if (queue.acked == to || queue.acked == faultAt) {
            if (sendBroken) {
                fail(WcStatus.RETRY_EXC_ERR, Errno.EPIPE);
            }
            return false;
        }
        if (inBegin != queue.acked || inEnd != to || inTable != table) {
            scatter(to, table);
            if (in.count() == 0) {
                return false;
            }
        }
        long result = SocketIo.recvmsg(errno, connection.fd(), in, flags);
        if (result > 0) {
            inBegin = NEVER;
            advanceAcked(result);
            return true;
        }
        if (result == 0 || (result != -Errno.EAGAIN && result != -Errno.EINTR)) {
            fail(WcStatus.RETRY_EXC_ERR, (int) -result);
        }
        return false;
    }

    private void scatter(long to, RegionTable table) {
        in.clear();
        inBegin = queue.acked;
        inEnd = to;
        inTable = table;
        long skip = ackedBytes;
        for (long at = queue.acked; at < to && in.count() < IN_BUFFERS && in.bytes() < IN_BYTES; at++) {
            int slot = queue.slot(at);
            if (queue.incoming(slot) > 0 && !queue.permitted(slot, table)) {
                // The region was deregistered while the data was on its way.
                fault(at, WcStatus.LOC_PROT_ERR);
                return;
            }
            addReply(slot, skip);
            skip = 0;
        }
    }

    private void addReply(int slot, long skip) {
        long rest = skip;
        if (rest < Wire.REPLY_SIZE) {
            in.append(queue.replies().address() + SendQueue.replyOffset(slot) + rest, Wire.REPLY_SIZE - rest);
            rest = 0;
        } else {
            rest -= Wire.REPLY_SIZE;
        }
        int length = queue.incoming(slot);
        if (length == 0) {
            return;
        }
        if (Wire.isAtomic(queue.opcode(slot))) {
            in.append(queue.inlineAddress(slot) + rest, length - rest);
            return;
        }
        for (int i = 0; i < queue.sgeCount(slot); i++) {
            int part = queue.sgeLength(slot, i);
            if (part > rest) {
                in.append(queue.sgeAddress(slot, i) + rest, part - rest);
                rest = 0;
            } else {
                rest -= part;
            }
        }
    }

    private void advanceAcked(long bytes) {
        long rest = bytes;
        while (rest > 0) {
            int slot = queue.slot(queue.acked);
            if (ackedBytes < Wire.REPLY_SIZE) {
                long part = Math.min(Wire.REPLY_SIZE - ackedBytes, rest);
                ackedBytes += part;
                rest -= part;
                if (ackedBytes < Wire.REPLY_SIZE) {
                    return;
                }
                WcStatus status = ReplyHeader.check(
                        queue.replies(),
                        SendQueue.replyOffset(slot),
                        queue.opcode(slot),
                        queue.psn(queue.acked),
                        queue.incoming(slot));
                boolean early = status == WcStatus.SUCCESS && queue.acked == queue.sent;
                if (status != WcStatus.SUCCESS || early) {
                    fail(early ? WcStatus.BAD_RESP_ERR : status, 0);
                    return;
                }
            }
            long size = Wire.REPLY_SIZE + (long) queue.incoming(slot);
            long part = Math.min(size - ackedBytes, rest);
            ackedBytes += part;
            rest -= part;
            if (ackedBytes == size) {
                finish(slot);
            }
        }
    }

    private void finish(int slot) {
        int opcode = queue.opcode(slot);
        if (Wire.isAtomic(opcode)) {
            // SAFETY: scatter() checked this address against the table that is still in force under the queue pair's
            // lock.
            NativeMemory.put(queue.sgeAddress(slot, 0), queue.atomicResult(slot));
        }
        readsAcked += Wire.isReadOrAtomic(opcode) ? 1 : 0;
        ackedBytes = 0;
        queue.acked++;
    }

    // ---- the end

    private void fault(long at, WcStatus status) {
        if (faultAt == NEVER || at < faultAt) {
            faultAt = at;
            faultStatus = status;
        }
    }

    private void fail(WcStatus status, int detail) {
        if (queuePair.state() == QpState.ERR) {
            return;
        }
        if (queue.acked < queue.posted) {
            failedAt = queue.acked;
            failedStatus = status;
            failedDetail = detail;
        }
        queuePair.enterError();
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
        if (queuePair.state() == QpState.ERR && queue.head >= queue.acked) {
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
            case Wire.WRITE, Wire.WRITE_WITH_IMM -> WcOpcode.RDMA_WRITE;
            case Wire.COMPARE_AND_SWAP -> WcOpcode.COMP_SWAP;
            case Wire.FETCH_AND_ADD -> WcOpcode.FETCH_ADD;
            default -> WcOpcode.SEND;
        };
        completion.set(queue.wrId(slot), status, opcode, detail, queue.length(slot), 0, false, queuePair.qpn());
    }
}
