package io.farpage.it.harness;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.farpage.linux.Errno;
import io.farpage.linux.uffd.MemoryFile;
import io.farpage.linux.uffd.UffdMessages;
import io.farpage.linux.uffd.Userfaultfd;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * Resolves the faults of another process whose every page holds its number plus one at first, and, if it has the memfd,
 * lets one page at a time be there: before it brings the next it protects the last from writing, reads it out of the
 * memfd and punches it out. All that an agent does, in its shortest form; it shows that what a VMM handed over is
 * enough for that. Runs in a thread of its own until closed.
 */
public final class TinyPager implements AutoCloseable {
    private static final int PAGE = 4096;
    private static final long IDLE_NANOS = 50_000;

    private final Userfaultfd userfaultfd;
    private final Optional<MemoryFile> file;
    private final long base;
    private final int pages;
    private final Arena arena = Arena.ofShared();
    private final MemorySegment store;
    private final Thread thread;
    private int present = -1;
    private volatile boolean closing;
    private final AtomicLong faults = new AtomicLong();
    private final AtomicLong evictions = new AtomicLong();
    private final AtomicLong removals = new AtomicLong();
    private volatile boolean unmapped;

    /**
     * Takes over what a VMM sent.
     *
     * @param file behind the memory, if pages can be taken out
     * @param base where the memory is in the process
     * @param first number of the page that it starts with
     */
    public TinyPager(int userfaultfd, Optional<MemoryFile> file, long base, int first, int pages) {
        this.userfaultfd = Userfaultfd.adopt(userfaultfd);
        this.file = file;
        this.base = base;
        this.pages = pages;
        this.store = arena.allocate((long) pages * PAGE, PAGE);
        for (long page = 0; page < pages; page++) {
            store.set(JAVA_LONG, page * PAGE, first + page + 1);
        }
        this.thread = Thread.ofPlatform().daemon().name("tiny-pager").start(this::work);
    }

    /** Pages that it is for. */
    public int pages() {
        return pages;
    }

    /** Pages brought so far. */
    public long faults() {
        return faults.get();
    }

    /** Pages taken out so far. */
    public long evictions() {
        return evictions.get();
    }

    /** Pages that the process said it gives up. */
    public long removals() {
        return removals.get();
    }

    /** Whether the process has unmapped the memory. */
    public boolean sawUnmapping() {
        return unmapped;
    }

    private void work() {
        UffdMessages messages = new UffdMessages(16);
        while (!closing) {
            int count = userfaultfd.read(messages);
            if (count <= 0) {
                LockSupport.parkNanos(IDLE_NANOS);
            }
            for (int i = 0; i < count; i++) {
                switch (messages.event(i)) {
                    case UffdMessages.EVENT_PAGEFAULT -> serve((int) ((messages.address(i) - base) / PAGE));
                    case UffdMessages.EVENT_UNMAP -> unmapped = true;
                    case UffdMessages.EVENT_REMOVE -> remove(messages.address(i), messages.end(i));
                    default -> throw new IllegalStateException("event " + messages.event(i));
                }
            }
        }
    }

    private void remove(long start, long end) {
        store.asSlice(start - base, end - start).fill((byte) 0);
        present = -1;
        removals.addAndGet((end - start) / PAGE);
    }

    private void serve(int page) {
        if (present >= 0 && present != page && file.isPresent()) {
            evict(file.get(), present);
        }
        faults.incrementAndGet(); // before the process goes on
        long copied = userfaultfd.copy(address(page), store.address() + (long) page * PAGE, PAGE, 0);
        if (copied != PAGE && copied != -Errno.EEXIST) {
            throw new IllegalStateException("UFFDIO_COPY of page " + page + ": " + copied);
        }
        present = page;
    }

    private void evict(MemoryFile memory, int page) {
        long at = (long) page * PAGE;
        int protectedOrNot = userfaultfd.writeProtect(address(page), PAGE, true);
        long read = memory.read(at, store.address() + at, PAGE);
        int punched = memory.punchHole(at, PAGE);
        if (protectedOrNot < 0 || read != PAGE || punched < 0) {
            throw new IllegalStateException("page " + page + ": " + protectedOrNot + ", " + read + ", " + punched);
        }
        evictions.incrementAndGet();
    }

    private long address(int page) {
        return base + (long) page * PAGE;
    }

    @Override
    public void close() {
        closing = true;
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        userfaultfd.close();
        file.ifPresent(MemoryFile::close);
        arena.close();
    }
}
