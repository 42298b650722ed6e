package io.farpage.linux.uffd;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * A batch of messages as {@link Userfaultfd#read} fills it, again and again.
 *
 * <pre>{@code
 * struct uffd_msg { u8 event; u8 reserved[7]; union {
 *     struct { u64 flags; u64 address; u32 ptid; } pagefault;
 *     struct { u32 ufd; } fork;
 *     struct { u64 from; u64 to; u64 len; } remap;
 *     struct { u64 start; u64 end; } remove; } arg; };
 * }</pre>
 */
public final class UffdMessages {
    public static final int EVENT_PAGEFAULT = 0x12;
    public static final int EVENT_FORK = 0x13;
    public static final int EVENT_REMAP = 0x14;
    public static final int EVENT_REMOVE = 0x15;
    public static final int EVENT_UNMAP = 0x16;

    /** Bytes of one message. */
    public static final int MESSAGE_BYTES = 32;

    private static final long FLAG_WRITE = 1;
    private static final long FLAG_WP = 1L << 1;
    private static final long FLAG_MINOR = 1L << 2;

    private final MemorySegment memory;

    /** @param capacity the most messages of one read */
    public UffdMessages(int capacity) {
        memory = Arena.ofAuto().allocate((long) capacity * MESSAGE_BYTES, 8);
    }

    /** In memory of the caller, aligned to 8 bytes; as many messages as it has room for. */
    public UffdMessages(MemorySegment memory) {
        this.memory = memory;
    }

    /** Blanks a message: it is none of the {@code EVENT_} constants afterwards. */
    public void clear(int index) {
        memory.set(JAVA_BYTE, at(index), (byte) 0);
    }

    /** Where the kernel puts the messages. */
    public long address() {
        return memory.address();
    }

    /** Size of the buffer for messages, bytes. */
    public long bytes() {
        return memory.byteSize();
    }

    /** The most messages of one read. */
    public int capacity() {
        return (int) (memory.byteSize() / MESSAGE_BYTES);
    }

    /** One of the {@code EVENT_} constants. */
    public int event(int index) {
        return Byte.toUnsignedInt(memory.get(JAVA_BYTE, at(index)));
    }

    /** Address of a page fault, or where an unmapped, removed or moved range starts. */
    public long address(int index) {
        return event(index) == EVENT_PAGEFAULT ? word(index, 16) : word(index, 8);
    }

    /** Whether a page fault is of a store. */
    public boolean isWrite(int index) {
        return (word(index, 8) & FLAG_WRITE) != 0;
    }

    /** Whether a page fault is of a store to a page that exists and is write-protected. */
    public boolean isWriteProtect(int index) {
        return (word(index, 8) & FLAG_WP) != 0;
    }

    /** Whether a page fault is of a page that is in the page cache and not mapped. */
    public boolean isMinor(int index) {
        return (word(index, 8) & FLAG_MINOR) != 0;
    }

    /** Where a removed or unmapped range ends. */
    public long end(int index) {
        return word(index, 16);
    }

    /** Where a range was moved to. */
    public long movedTo(int index) {
        return word(index, 16);
    }

    /** Bytes that were moved. */
    public long movedLength(int index) {
        return word(index, 24);
    }

    /** The descriptor for a child's memory. */
    public int forked(int index) {
        return memory.get(JAVA_INT, at(index) + 8);
    }

    private long word(int index, long offset) {
        return memory.get(JAVA_LONG, at(index) + offset);
    }

    private static long at(int index) {
        return (long) index * MESSAGE_BYTES;
    }
}
