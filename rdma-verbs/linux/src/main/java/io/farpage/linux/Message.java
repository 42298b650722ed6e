package io.farpage.linux;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;

/**
 * A message header and its vector of buffers, made once and filled in again and again (recvmsg(2), readv(2)).
 *
 * <pre>{@code
 * struct msghdr { void *msg_name; socklen_t msg_namelen; struct iovec *msg_iov; size_t msg_iovlen;
 *                 void *msg_control; size_t msg_controllen; int msg_flags; };
 * struct iovec  { void *iov_base; size_t iov_len; };
 * }</pre>
 */
public final class Message {
    /** The most buffers of one call ({@code IOV_MAX}). */
    public static final int MAX_BUFFERS = 1024;

    private static final int HEADER_SIZE = 56;
    private static final int IOV = 16;
    private static final int IOV_LENGTH = 24;
    private static final int CONTROL = 32;
    private static final int CONTROL_LENGTH = 40;
    private static final int ENTRY = 16;

    private final MemorySegment memory;
    private final long address;
    private final int capacity;
    private int count;
    private long bytes;

    /** @param capacity buffers that it can hold, 1 to {@link #MAX_BUFFERS} */
    public Message(int capacity) {
        this(capacity, Arena.ofAuto());
    }

    /**
     * Makes a message in memory that the caller gives.
     *
     * @param capacity buffers that it can hold, 1 to {@link #MAX_BUFFERS}
     * @param allocator gives memory that is zero and stays valid while the message is used
     */
    public Message(int capacity, SegmentAllocator allocator) {
        if (capacity < 1 || capacity > MAX_BUFFERS) {
            throw new IllegalArgumentException("capacity " + capacity + " is not within 1.." + MAX_BUFFERS);
        }
        this.memory = allocator.allocate(bytes(capacity), 8);
        this.address = memory.address();
        this.capacity = capacity;
        memory.set(JAVA_LONG, IOV, address + HEADER_SIZE);
    }

    /** Bytes of native memory of a message that can hold {@code capacity} buffers. */
    public static long bytes(int capacity) {
        return HEADER_SIZE + (long) capacity * ENTRY;
    }

    /** Address of the {@code struct msghdr}. */
    public long address() {
        return address;
    }

    /** Address of the first {@code struct iovec}. */
    public long vector() {
        return address + HEADER_SIZE;
    }

    /** Buffers added. */
    public int count() {
        return count;
    }

    /** Sum of the lengths of the buffers added. */
    public long bytes() {
        return bytes;
    }

    /** Buffers that still fit. */
    public int space() {
        return capacity - count;
    }

    /** Removes all buffers. */
    public void clear() {
        count = 0;
        bytes = 0;
    }

    /** Adds a buffer; not more than {@link #space()} of them. */
    public void add(long base, long length) {
        long at = HEADER_SIZE + (long) count * ENTRY;
        memory.set(JAVA_LONG, at, base);
        memory.set(JAVA_LONG, at + 8, length);
        memory.set(JAVA_LONG, IOV_LENGTH, ++count);
        bytes += length;
    }

    /** Adds a buffer as {@link #add} does, or makes the last one longer if this one follows it in memory. */
    public void append(long base, long length) {
        if (count > 0) {
            long last = HEADER_SIZE + (long) (count - 1) * ENTRY;
            long lastLength = memory.get(JAVA_LONG, last + 8);
            if (memory.get(JAVA_LONG, last) + lastLength == base) {
                memory.set(JAVA_LONG, last + 8, lastLength + length);
                bytes += length;
                return;
            }
        }
        add(base, length);
    }

    /**
     * Appends a buffer less its first {@code skip} bytes; nothing if it has no more than these.
     *
     * @return how many bytes of what follows are still to be skipped
     */
    public long append(long base, long length, long skip) {
        if (length > skip) {
            append(base + skip, length - skip);
            return 0;
        }
        return skip - length;
    }

    /** Address of a buffer, counted from 0. */
    public long base(int index) {
        return memory.get(JAVA_LONG, HEADER_SIZE + (long) index * ENTRY);
    }

    /** Length of a buffer, counted from 0. */
    public long length(int index) {
        return lengthOf(index);
    }

    /** Address of the first buffer, if any is added. */
    long firstBase() {
        return memory.get(JAVA_LONG, HEADER_SIZE);
    }

    /** Drops the first {@code sent} bytes, so that the rest can be sent. */
    public void consume(long sent) {
        bytes -= sent;
        long rest = sent;
        int first = 0;
        while (first < count && rest >= lengthOf(first)) {
            rest -= lengthOf(first++);
        }
        for (int i = first; i < count; i++) {
            long skip = i == first ? rest : 0;
            long to = HEADER_SIZE + (long) (i - first) * ENTRY;
            long base = memory.get(JAVA_LONG, HEADER_SIZE + (long) i * ENTRY) + skip;
            long length = lengthOf(i) - skip;
            memory.set(JAVA_LONG, to, base);
            memory.set(JAVA_LONG, to + 8, length);
        }
        count -= first;
        memory.set(JAVA_LONG, IOV_LENGTH, count);
    }

    /** Sets the buffer for ancillary data (cmsg(3)); must be set again before each receive. */
    public void control(long controlAddress, long length) {
        memory.set(JAVA_LONG, CONTROL, controlAddress);
        memory.set(JAVA_LONG, CONTROL_LENGTH, length);
    }

    /** Bytes of ancillary data of the last receive. */
    public long controlLength() {
        return memory.get(JAVA_LONG, CONTROL_LENGTH);
    }

    private long lengthOf(int index) {
        return memory.get(JAVA_LONG, HEADER_SIZE + (long) index * ENTRY + 8);
    }
}
