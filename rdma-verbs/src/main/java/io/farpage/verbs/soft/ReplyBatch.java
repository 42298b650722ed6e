package io.farpage.verbs.soft;

import io.farpage.linux.Errno;
import io.farpage.linux.Message;
import io.farpage.linux.SocketIo;
import io.farpage.verbs.WcStatus;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;

/** Replies that go out with one call, straight from registered memory. Owned by one responder. */
final class ReplyBatch {
    private static final int MAX_REPLIES = 128;
    private static final long MAX_BYTES = 256 * 1024;

    /** Bytes of native memory of one. */
    static final long BYTES = Message.bytes(2 * MAX_REPLIES) + MAX_REPLIES * (long) Wire.REPLY_SIZE;

    private final SocketStream stream;
    private final Message message;
    private final MemorySegment headers;
    private int count;
    private int reads;
    private boolean hasMemory;

    ReplyBatch(SocketStream stream, SegmentAllocator memory) {
        this.stream = stream;
        this.message = new Message(2 * MAX_REPLIES, memory);
        this.headers = memory.allocate(MAX_REPLIES * (long) Wire.REPLY_SIZE, 64);
    }

    boolean isFull() {
        return count == MAX_REPLIES || message.bytes() >= MAX_BYTES;
    }

    /** Whether a reply that waits has its data in registered memory, which must not change before it is sent. */
    boolean hasMemory() {
        return hasMemory;
    }

    /** Answers to READs that wait: a lower bound of what the peer has in flight. */
    int reads() {
        return reads;
    }

    void add(int opcode, WcStatus status, int psn) {
        header(opcode, status, psn, 0);
    }

    void addData(int opcode, int psn, long address, int length) {
        reads++;
        header(opcode, WcStatus.SUCCESS, psn, length);
        if (length > 0) {
            message.append(address, length);
            hasMemory = true;
        }
    }

    private void header(int opcode, WcStatus status, int psn, int length) {
        long at = (long) count++ * Wire.REPLY_SIZE;
        ReplyHeader.encode(headers, at, opcode, status, psn, length);
        message.append(headers.address() + at, Wire.REPLY_SIZE);
    }

    /**
     * Sends what waits; blocks while the peer reads nothing.
     *
     * @return whether the connection still works
     */
    boolean flush() {
        while (message.bytes() > 0) {
            long result = stream.send(message, 0);
            if (result == message.bytes()) {
                break;
            }
            if (result >= 0) {
                message.consume(result);
            } else if (result != -Errno.EINTR) {
                clear();
                return false;
            }
        }
        clear();
        return true;
    }

    /**
     * Sends what waits, as far as the socket takes it.
     *
     * @return whether it took all; if not, {@link #flush} has the rest to send
     */
    boolean tryFlush() {
        long result = message.bytes() == 0 ? 0 : stream.send(message, SocketIo.MSG_DONTWAIT);
        if (result == message.bytes()) {
            clear();
            return true;
        }
        message.consume(Math.max(result, 0));
        return false;
    }

    private void clear() {
        message.clear();
        count = 0;
        reads = 0;
        hasMemory = false;
    }
}
