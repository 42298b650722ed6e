package io.farpage.it.harness;

import io.farpage.guest.vmm.GuestMemory;
import io.farpage.guest.vmm.Handoff;
import io.farpage.linux.Errno;
import io.farpage.linux.FileIo;
import io.farpage.linux.Memory;
import io.farpage.linux.SystemCall;
import io.farpage.linux.uffd.MemoryFile;
import io.farpage.linux.uffd.PagedAccess;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;

/**
 * Memory of this process that an agent pages, on a memfd if nothing else is said: what a VMM has, without the VMM.
 * Closing it is the VMM's end.
 */
public final class PagedRam implements AutoCloseable {
    private static final int MADV_DONTNEED = 4;

    private final Arena arena = Arena.ofShared();
    private final GuestMemory memory;
    private final MemorySegment buffer;
    private final Handoff handoff;

    private PagedRam(GuestMemory memory, Handoff handoff) {
        this.memory = memory;
        this.buffer = arena.allocate(memory.pageBytes(), 8);
        this.handoff = handoff;
    }

    /** Hands memory over to the agent that listens at {@code socket}. */
    public static PagedRam handOver(Path socket, int pages) {
        return handOver(socket, pages, 1);
    }

    /** As {@link #handOver(Path, int)}, in {@code parts} parts, each with a userfaultfd of its own. */
    public static PagedRam handOver(Path socket, int pages, int parts) {
        return handOver(socket, GuestMemory.Backing.MEMFD, pages, parts);
    }

    /** Hands memory of a kind over to the agent that listens at {@code socket}, in {@code parts} parts. */
    public static PagedRam handOver(Path socket, GuestMemory.Backing backing, int pages, int parts) {
        GuestMemory memory = GuestMemory.map(backing, (long) pages * backing.pageBytes());
        try {
            return new PagedRam(memory, Handoff.of(memory, socket, parts));
        } catch (RuntimeException e) {
            memory.close();
            throw e;
        }
    }

    /** Writes a whole page. */
    public void write(int page, byte[] bytes) {
        MemorySegment.copy(bytes, 0, buffer, ValueLayout.JAVA_BYTE, 0, bytes.length);
        PagedAccess.write(address(page), buffer);
    }

    /**
     * Makes the kernel write a page, with that of a file. Returns the bytes written, or -errno: -EFAULT if the page is
     * lost. Any thread.
     */
    public long copyIn(int page, MemoryFile source, long offset) {
        return source.read(offset, address(page), memory.pageBytes());
    }

    /** Makes the kernel read a page. Returns the bytes read, or -errno: -EFAULT if the page is lost. Any thread. */
    public long copyOut(int page, MemorySegment to) {
        Errno errno = Errno.ofThread();
        try (MemoryFile sink = MemoryFile.create("sink", memory.pageBytes())) {
            long read = FileIo.write(errno, sink.fd(), address(page), memory.pageBytes());
            return read == memory.pageBytes() ? sink.read(0, to.address(), memory.pageBytes()) : read;
        }
    }

    /** Reads a whole page. */
    public byte[] read(int page) {
        PagedAccess.read(address(page), buffer);
        return buffer.toArray(ValueLayout.JAVA_BYTE);
    }

    /** Reads as much of a page as {@code into} has room for. Any thread, several at once. */
    public void read(int page, MemorySegment into) {
        PagedAccess.read(address(page), into);
    }

    /**
     * Loads the first word of a page. Any thread, several at once.
     *
     * @param word 8 bytes of the thread's own
     */
    public long load(int page, MemorySegment word) {
        PagedAccess.read(address(page), word);
        return word.get(ValueLayout.JAVA_LONG, 0);
    }

    /** Stores to the first word of a page, once. Any thread, several at once. */
    public void store(int page, long value) {
        StoreInstruction.store(address(page), value);
    }

    /** Gives a page up, as a balloon does. Any thread. */
    public void remove(int page) {
        if (memory.file().isPresent()) {
            PagedAccess.remove(address(page), memory.pageBytes());
            return;
        }
        SystemCall madvise = Memory.madvise(address(page), memory.pageBytes(), MADV_DONTNEED);
        if (!madvise.succeeded()) {
            throw new IllegalStateException("madvise(MADV_DONTNEED): " + madvise.error());
        }
    }

    /**
     * Whether the kernel can read a page on this process' behalf: a poisoned page gives it EFAULT, where a load would
     * give SIGBUS.
     */
    public boolean isReadable(int page) {
        Errno errno = Errno.ofThread();
        try (MemoryFile sink = MemoryFile.create("sink", memory.pageBytes())) {
            long written = FileIo.write(errno, sink.fd(), address(page), memory.pageBytes());
            if (written != memory.pageBytes() && written != -Errno.EFAULT) {
                throw new IllegalStateException("write(2) from page " + page + " gave " + written);
            }
            return written > 0;
        }
    }

    /** Reads a page and drops what it holds. Any thread, several at once. */
    public void touch(int page) {
        try (Arena own = Arena.ofConfined()) {
            PagedAccess.read(address(page), own.allocate(memory.pageBytes(), 8));
        }
    }

    /** The file behind the memory; there is none behind anonymous memory. */
    public MemoryFile file() {
        return memory.file().orElseThrow();
    }

    private long address(int page) {
        return memory.address() + (long) page * memory.pageBytes();
    }

    /** As {@link #close}, once the agent has ended: nothing reads what the kernel has to say of the memory's end. */
    public void closeWithoutAgent() {
        handoff.close();
        memory.close();
        arena.close();
    }

    @Override
    public void close() {
        memory.close();
        handoff.close();
        arena.close();
    }
}
