package io.farpage.it.harness;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.farpage.linux.Errno;
import io.farpage.linux.Libc;
import io.farpage.linux.Memory;
import java.lang.foreign.FunctionDescriptor;
import java.lang.invoke.MethodHandle;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.LongConsumer;
import java.util.stream.Stream;

/**
 * Where the pages of a guest are mapped, in chunks that move (mremap(2)) and are unmapped. No thread touches a chunk
 * while it moves.
 */
final class MappedChunks {
    /** Pages of a chunk. */
    static final int PAGES = 16;

    private static final int MREMAP_MAYMOVE_FIXED = 1 | 2;

    private static final MethodHandle mremap$mh = Libc.capturing(
            "mremap", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_LONG), 4);

    private final int pageBytes;
    private final AtomicLongArray addresses;
    private final ReadWriteLock[] locks;

    /** @param address where all pages are mapped, one behind the other */
    MappedChunks(long address, int pages, int pageBytes) {
        this.pageBytes = pageBytes;
        int chunks = (pages + PAGES - 1) / PAGES;
        addresses = new AtomicLongArray(chunks);
        for (int i = 0; i < chunks; i++) {
            addresses.set(i, address + i * bytes());
        }
        locks = Stream.generate(ReentrantReadWriteLock::new).limit(chunks).toArray(ReadWriteLock[]::new);
    }

    private long bytes() {
        return (long) PAGES * pageBytes;
    }

    int count() {
        return addresses.length();
    }

    /** Runs an action with the address of a page, which does not move during that. */
    void use(int page, LongConsumer use) {
        int chunk = page / PAGES;
        locks[chunk].readLock().lock();
        try {
            use.accept(addresses.get(chunk) + (long) (page % PAGES) * pageBytes);
        } finally {
            locks[chunk].readLock().unlock();
        }
    }

    /** Moves a whole chunk to a new address. Returns when the agent has read of it. */
    void move(int chunk) {
        locks[chunk].writeLock().lock();
        try {
            Errno errno = Errno.ofThread();
            long to = Memory.mmap(bytes(), 0).value();
            // SAFETY: both ranges are this one's, and no thread uses them.
            long moved = (long) mremap$mh.invokeExact(
                    errno.segment(), addresses.get(chunk), bytes(), bytes(), MREMAP_MAYMOVE_FIXED, to);
            errno.require(moved == to ? 0 : -1, "mremap");
            addresses.set(chunk, to);
        } catch (Throwable t) {
            throw Libc.unexpected(t);
        } finally {
            locks[chunk].writeLock().unlock();
        }
    }

    /** Unmaps the first {@code count} chunks. */
    void unmapFirst(int count) {
        for (int chunk = 0; chunk < count; chunk++) {
            unmap(chunk);
        }
    }

    /** Unmaps a chunk that no thread uses. */
    void unmap(int chunk) {
        Memory.munmap(addresses.get(chunk), bytes());
    }
}
