package io.farpage.verbs.soft;

import io.farpage.linux.Errno;
import io.farpage.linux.Message;
import io.farpage.verbs.WcStatus;

/**
 * Receives the replies to a queue pair's requests. Guarded by the queue pair's lock.
 *
 * <p>Replies come in the order of requests, so the destination of every byte is known before it arrives: one receive
 * scatters headers and pages of many replies to their destinations. Requests that are left unanswered are skipped; if
 * one of them is refused, that comes where the next reply was expected. A reply that is not the expected one ends the
 * connection. Bytes behind it can land only in the destinations of work requests that then fail.
 */
final class ReplyReceiver {
    private static final int BUFFERS = 128;
    private static final long BYTES = 256 * 1024;
    private static final long NEVER = -1;

    private final SendQueue queue;
    private final InitiatorConnection connection;
    private final LocalFault fault;
    private final Message in;

    /** The work request whose reply has begun to arrive; it means something while {@link #replyBytes} is not 0. */
    private long replyTo;

    private long replyBytes;

    /** The range that {@link #in} was built for; it is valid while these do not change. */
    private long begin = NEVER;

    private long end;
    private RegionTable table = RegionTable.EMPTY;

    private WcStatus failure = WcStatus.SUCCESS;
    private int failureDetail;

    /** @param in has {@link #buffers} buffers */
    ReplyReceiver(SendQueue queue, InitiatorConnection connection, LocalFault fault, Message in) {
        this.queue = queue;
        this.connection = connection;
        this.fault = fault;
        this.in = in;
    }

    /** Buffers that one call receives into at most. */
    static int buffers(int maxSge) {
        return BUFFERS + 1 + maxSge;
    }

    void reset() {
        replyBytes = 0;
        begin = NEVER;
        table = RegionTable.EMPTY;
        failure = WcStatus.SUCCESS;
        failureDetail = 0;
    }

    /** Regions were registered or deregistered: a vector that was built with the old ones is void. */
    void regionsChanged() {
        begin = NEVER;
    }

    /** How receiving failed, after which no reply is received; {@link WcStatus#SUCCESS} if it has not. */
    WcStatus failure() {
        return failure;
    }

    /** The error number of {@link #failure()}, 0 if it has none. */
    int failureDetail() {
        return failureDetail;
    }

    /**
     * Receives replies to the requests before position {@code to}. At least one of them must be outstanding.
     *
     * @return whether any byte came
     */
    boolean receive(long to, RegionTable regions, int flags) {
        if (begin != queue.acked || end != to || table != regions) {
            scatter(to, regions);
            if (in.count() == 0) {
                return false;
            }
        }
        long result = connection.receive(in, flags);
        if (result > 0) {
            begin = NEVER;
            advance(result);
            return true;
        }
        if (result == 0 || (result != -Errno.EAGAIN && result != -Errno.EINTR)) {
            fail(WcStatus.RETRY_EXC_ERR, (int) -result);
        }
        return false;
    }

    private void scatter(long to, RegionTable regions) {
        in.clear();
        begin = queue.acked;
        end = to;
        table = regions;
        long skip = replyBytes;
        long at = next();
        while (at < to && in.count() < BUFFERS && in.bytes() < BYTES) {
            int slot = queue.slot(at);
            if (queue.incoming(slot) > 0 && !queue.permitted(slot, regions)) {
                // The region was deregistered while the data was on its way.
                if (in.count() == 0) {
                    acknowledge(at);
                }
                fault.add(at);
                return;
            }
            queue.appendReply(in, slot, skip);
            skip = 0;
            if (!queue.isAnswered(slot)) {
                return; // a refusal, behind which nothing comes
            }
            at = queue.nextReply(at + 1, to);
        }
    }

    /** The work request for whose reply the next bytes are received. */
    private long next() {
        return replyBytes > 0 ? replyTo : queue.nextReply(queue.acked, end);
    }

    private void advance(long bytes) {
        long rest = bytes;
        while (rest > 0) {
            replyTo = next();
            int slot = queue.slot(replyTo);
            if (replyBytes < Wire.REPLY_SIZE) {
                long part = Math.min(Wire.REPLY_SIZE - replyBytes, rest);
                replyBytes += part;
                rest -= part;
                if (replyBytes < Wire.REPLY_SIZE) {
                    return;
                }
                long at = queue.repliedTo(replyTo, end);
                WcStatus status = queue.checkReply(replyTo, at);
                boolean early = status == WcStatus.SUCCESS && at == queue.sent;
                if (status != WcStatus.SUCCESS || early) {
                    acknowledge(at);
                    fail(early ? WcStatus.BAD_RESP_ERR : status, 0);
                    return;
                }
            }
            long size = Wire.REPLY_SIZE + (long) queue.incoming(slot);
            long part = Math.min(size - replyBytes, rest);
            replyBytes += part;
            rest -= part;
            if (replyBytes == size) {
                replyBytes = 0;
                acknowledge(replyTo + 1);
            }
        }
    }

    /** The work requests before {@code to} were executed. */
    void acknowledge(long to) {
        while (queue.acked < to) {
            queue.countAcked();
        }
    }

    private void fail(WcStatus status, int detail) {
        failure = status;
        failureDetail = detail;
    }
}
