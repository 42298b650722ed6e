package io.farpage.verbs.soft;

import io.farpage.linux.Errno;
import io.farpage.linux.PollSet;
import io.farpage.linux.SocketIo;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;

/**
 * The incoming bytes of one connection. One receive call returns many requests. The part of a payload that did not
 * arrive with its header is received straight into its destination. Owned by one responder.
 */
final class RequestStream {
    static final int CAPACITY = 64 * 1024;

    private static final int SPINS_PER_CLOCK_READ = 16;

    private final int fd;
    private final Errno errno;
    private final SocketStream stream;
    private final IdleStrategy idle;
    private final long spinNanos;
    private final MemorySegment buffer;
    private final long address;
    private int position;
    private int limit;
    private boolean used;

    RequestStream(int fd, Errno errno, SocketStream stream, SoftOptions.Responders options, SegmentAllocator memory) {
        this.fd = fd;
        this.errno = errno;
        this.stream = stream;
        this.idle = options.idle();
        this.spinNanos = options.spin().toNanos();
        this.buffer = memory.allocate(CAPACITY, 64);
        this.address = buffer.address();
    }

    MemorySegment bytes() {
        return buffer;
    }

    /** Offset of the next byte. */
    int position() {
        return position;
    }

    /** Bytes that have arrived. */
    int available() {
        return limit - position;
    }

    void skip(int bytes) {
        position += bytes;
    }

    /**
     * Waits for more bytes.
     *
     * @return whether some came; if not, the peer has gone
     */
    boolean fill() {
        makeRoom();
        // An unused connection, such as that of a peer which only serves, does not spin.
        long result = idle == IdleStrategy.BLOCK || !used
                ? -Errno.EAGAIN
                : spin(idle == IdleStrategy.SPIN ? Long.MAX_VALUE : spinNanos);
        while (result == -Errno.EAGAIN || result == -Errno.EINTR) {
            result = stream.receive(address + limit, CAPACITY - limit, 0);
        }
        if (result <= 0) {
            return false;
        }
        limit += (int) result;
        used = true;
        return true;
    }

    private void makeRoom() {
        if (position == limit) {
            position = 0;
            limit = 0;
        } else if (position > 0) {
            MemorySegment.copy(buffer, position, buffer, 0, available());
            limit -= position;
            position = 0;
        }
    }

    /**
     * Takes the bytes that have come, and waits for none.
     *
     * @return whether more may come; if not, the peer has gone
     */
    boolean take() {
        makeRoom();
        long result = stream.receive(address + limit, CAPACITY - limit, SocketIo.MSG_DONTWAIT);
        limit += (int) Math.max(result, 0);
        return result > 0 || result == -Errno.EAGAIN || result == -Errno.EINTR;
    }

    private long spin(long nanos) {
        long start = 0;
        for (int i = 0; ; i++) {
            long result = stream.receive(address + limit, CAPACITY - limit, SocketIo.MSG_DONTWAIT);
            if (result != -Errno.EAGAIN) {
                return result;
            }
            if (nanos != Long.MAX_VALUE && i % SPINS_PER_CLOCK_READ == 0) {
                long now = System.nanoTime();
                start = i == 0 ? now : start;
                if (now - start >= nanos) {
                    return result;
                }
            }
        }
    }

    /**
     * Moves the next {@code length} bytes to {@code destination}, waiting for those that have not arrived.
     *
     * @return whether all came
     */
    boolean moveTo(long destination, int length) {
        int arrived = Math.min(length, available());
        NativeMemory.copy(address + position, destination, arrived);
        position += arrived;
        long at = destination + arrived;
        long rest = (long) length - arrived;
        while (rest > 0) {
            long result = stream.receive(at, rest, SocketIo.MSG_WAITALL);
            if (result == 0 || (result < 0 && result != -Errno.EINTR && result != -Errno.EAGAIN)) {
                return false;
            }
            at += Math.max(result, 0);
            rest -= Math.max(result, 0);
        }
        return true;
    }

    /** Reads and drops what the peer still sends, until it closes or {@code nanos} are over. */
    void drain(long nanos) {
        PollSet readable = new PollSet(1);
        readable.add(fd, PollSet.POLLIN);
        long deadline = System.nanoTime() + nanos;
        long result = 1;
        while (result != 0 && System.nanoTime() - deadline < 0) {
            readable.await(Math.max(1, deadline - System.nanoTime()));
            result = SocketIo.recv(errno, fd, address, CAPACITY, SocketIo.MSG_DONTWAIT);
            if (result < 0 && result != -Errno.EAGAIN && result != -Errno.EINTR) {
                return;
            }
        }
    }
}
