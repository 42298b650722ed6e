package io.farpage.verbs.soft;

import io.farpage.linux.Errno;
import io.farpage.linux.Message;

/**
 * Sends the posted requests of a queue pair, as many with one call as fit, without blocking. Guarded by the queue
 * pair's lock.
 */
final class RequestSender {
    private static final int BUFFERS = 128;
    private static final long BYTES = 256 * 1024;

    private final SendQueue queue;
    private final InitiatorConnection connection;
    private final LocalFault fault;
    private final Message out;

    /** Bytes of request {@code queue.sent} that are sent. */
    private long sentBytes;

    private int maxReads = 1;
    private boolean broken;
    private boolean blocked;

    /** @param out has {@link #buffers} buffers */
    RequestSender(SendQueue queue, InitiatorConnection connection, LocalFault fault, Message out) {
        this.queue = queue;
        this.connection = connection;
        this.fault = fault;
        this.out = out;
    }

    /** Buffers that one call sends from at most. */
    static int buffers(int maxSge) {
        return BUFFERS + 1 + maxSge;
    }

    void reset() {
        sentBytes = 0;
        broken = false;
        blocked = false;
    }

    /** @param limit READs that may be in flight at once */
    void setMaxReads(int limit) {
        maxReads = limit;
    }

    /** Whether there is something to send: requests, or bytes of them that the connection has taken and not sent. */
    boolean hasWork() {
        return queue.sent < queue.posted || connection.hasUnsent();
    }

    /** Whether there is something to send that the socket's buffer has no space for. */
    boolean isBlocked() {
        return blocked;
    }

    /** Whether the connection takes nothing more. A refusal may have come before it broke. */
    boolean isBroken() {
        return broken;
    }

    /** The position behind the last request that is sent at least in part. */
    long end() {
        return queue.sent + (sentBytes > 0 ? 1 : 0);
    }

    /** Sends what may be sent now; returns whether anything was. */
    boolean send(RegionTable table) {
        boolean progressed = false;
        if (connection.hasUnsent()) {
            progressed = flush();
        }
        while (!broken && !connection.hasUnsent() && queue.sent < queue.posted) {
            gather(table);
            if (out.count() == 0) {
                break;
            }
            long result = connection.send(out);
            if (result == -Errno.EAGAIN) {
                blocked = true;
                break;
            }
            if (result < 0) {
                blocked = false;
                broken = result != -Errno.EINTR;
                break;
            }
            progressed = true;
            blocked = result < out.bytes();
            advance(result);
            if (blocked) {
                break;
            }
        }
        blocked |= connection.hasUnsent();
        return progressed;
    }

    /** Sends what the connection has taken before. Returns whether any of it went. */
    private boolean flush() {
        long result = connection.flush();
        blocked = connection.hasUnsent();
        broken |= result < 0 && result != -Errno.EAGAIN;
        return result > 0;
    }

    private void gather(RegionTable table) {
        out.clear();
        boolean mayLeaveUnanswered = (connection.requestFlags() & Wire.FLAG_UNANSWERED) != 0;
        long reads = queue.readsInFlight();
        long skip = sentBytes;
        for (long at = queue.sent; at < queue.posted && out.count() < BUFFERS && out.bytes() < BYTES; at++) {
            int slot = queue.slot(at);
            boolean isRead = queue.opcode(slot) == Wire.READ;
            if (fault.isAt(at)) {
                return;
            }
            if (skip == 0 && ((isRead && reads >= maxReads) || (queue.isFenced(slot) && reads > 0))) {
                return;
            }
            if (!queue.permitted(slot, table)) {
                fault.add(at);
                return;
            }
            reads += isRead ? 1 : 0;
            if (mayLeaveUnanswered && skip == 0) {
                queue.leaveUnanswered(slot);
            }
            queue.appendRequest(out, slot, skip);
            skip = 0;
        }
    }

    private void advance(long bytes) {
        long rest = sentBytes + bytes;
        while (queue.sent < queue.posted) {
            int slot = queue.slot(queue.sent);
            long size = Wire.REQUEST_SIZE + (long) queue.outgoing(slot);
            if (rest < size) {
                break;
            }
            rest -= size;
            queue.countSent(slot);
        }
        sentBytes = rest;
    }
}
