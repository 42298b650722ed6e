package io.farpage.agent.data.pager;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.farpage.linux.uffd.UffdMessages;
import java.lang.foreign.MemorySegment;

/** Writes userfaultfd messages as the kernel does. */
public final class MessageWriter {
    private static final long FLAG_WRITE = 1;
    private static final long FLAG_WP = 1L << 1;

    private final MemorySegment memory;
    private int count;

    /** @param into what a read is to fill */
    @SuppressWarnings("restricted") // SAFETY: the messages own these bytes, and outlive the writer.
    public MessageWriter(UffdMessages into) {
        memory = MemorySegment.ofAddress(into.address()).reinterpret(into.bytes());
    }

    /** Messages written so far. */
    public int count() {
        return count;
    }

    /** Whether there is no room for another. */
    public boolean isFull() {
        return (long) count * UffdMessages.MESSAGE_BYTES == memory.byteSize();
    }

    /** A fault. */
    public void fault(long address, boolean write, boolean writeProtect) {
        put(
                UffdMessages.EVENT_PAGEFAULT,
                (write ? FLAG_WRITE : 0) | (writeProtect ? FLAG_WP | FLAG_WRITE : 0),
                address);
    }

    /** A removal. */
    public void removal(long start, long end) {
        put(UffdMessages.EVENT_REMOVE, start, end);
    }

    /** Memory that is no longer mapped. */
    public void unmapping(long start, long end) {
        put(UffdMessages.EVENT_UNMAP, start, end);
    }

    /** Memory that is mapped elsewhere. */
    public void move(long from, long to, long length) {
        memory.set(JAVA_LONG, (long) count * UffdMessages.MESSAGE_BYTES + 24, length);
        put(UffdMessages.EVENT_REMAP, from, to);
    }

    /** A fork, with the descriptor for the child's memory. */
    public void fork(int descriptor) {
        put(UffdMessages.EVENT_FORK, descriptor, 0);
    }

    private void put(int event, long first, long second) {
        long at = (long) count * UffdMessages.MESSAGE_BYTES;
        memory.set(JAVA_BYTE, at, (byte) event);
        memory.set(JAVA_LONG, at + 8, first);
        memory.set(JAVA_LONG, at + 16, second);
        count++;
    }
}
