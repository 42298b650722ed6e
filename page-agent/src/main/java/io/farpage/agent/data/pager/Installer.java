package io.farpage.agent.data.pager;

import io.farpage.linux.Errno;
import io.farpage.linux.ErrnoName;
import io.farpage.linux.uffd.GuestFile;
import io.farpage.linux.uffd.Userfaultfd;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Installs pages in the guest and updates the page table. Every call completes one page or more, or none because it has to be repeated: the kernel
 * refuses installation while an event waits to be read, and while the host has no memory.
 *
 * <p>The kernel refuses a range that is not in one mapping (ENOENT), and a VMM may split its mappings at any page: mprotect(2), mlock(2) and
 * madvise(2) all do. Such a range is halved until it fits. A single page that is refused is no longer mapped there, and threads that wait for it
 * are woken: they fault again at what is mapped now, or end by SIGSEGV.
 */
final class Installer {
    private static final Logger log = LoggerFactory.getLogger(Installer.class);
    /** Bytes of a page that the kernel can fill with zeros by itself (UFFDIO_ZEROPAGE). */
    static final int BASE_PAGE = 4096;

    /** A page that was to be mapped is not in the page cache. */
    static final int ABSENT = -1;

    /** How soon an installation is tried again for which there was no memory, if no page is evicted before. */
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    /** An address at which no guest has memory: the lowest that a process may map. */
    private static final long NOWHERE = 0x10000;

    private final AddressSpace memory;
    private final GuestLayout layout;
    private final PageTable table;
    private final String space;
    private final boolean shared;
    private @Nullable GuestFile file;
    private final LongSupplier clock;
    private Sharers sharers = page -> null;
    private boolean protects;
    private boolean hasProtected;
    private boolean gone;
    private boolean starved;
    private long residentThen;
    private long pausedUntil;

    /** The outcome of poisoning a page. */
    enum Poison {
        /** Threads that touch the page get SIGBUS, or find that it is not mapped. */
        DONE,
        /** To be repeated: an event waits to be read, or the host has no memory. */
        AGAIN,
        /** The kernel has no UFFDIO_POISON. */
        UNSUPPORTED
    }

    /** Finds other processes that map the same file, for pages that the VMM has unmapped. */
    @FunctionalInterface
    interface Sharers {
        /** The installer of another address space in which a page is mapped, or null if there is none. */
        @Nullable
        Installer of(int page);
    }

    /** @param protects whether pages are installed write-protected, so that writes are noticed */
    Installer(AddressSpace memory, boolean protects) {
        this.memory = memory;
        this.protects = protects;
        layout = memory.layout();
        table = memory.table();
        space = memory.context().space();
        shared = memory.context().isShared();
        clock = memory.context().clock();
    }

    /** Names the file behind the memory, for {@link #discard}. */
    void backedBy(GuestFile backing) {
        file = backing;
    }

    /** Punches a page that the guest has given up out of the file, and wakes waiting threads. */
    void discard(int page) {
        if (file != null) {
            file.punchHole(layout.offsetOf(page), layout.pageBytes());
        }
        wake(page);
    }

    /** Sets how other processes that map the file are found. */
    void sharers(Sharers others) {
        sharers = others;
    }

    /** The address space has become another one. */
    void restart() {
        gone = false;
    }

    /** Whether the VMM's address space is gone. */
    boolean isGone() {
        return gone;
    }

    /** Whether pages can be write-protected: without that none can be evicted. */
    boolean protects() {
        return protects;
    }

    /**
     * How many pages may be resident. Where there was no memory for another page, that is one less than were resident then: one of them has to
     * go, and some may have been given up since the table counted them.
     */
    int mostResident(int limit) {
        return starved ? (int) Math.min(limit, Math.max(0, residentThen - 1)) : limit;
    }

    /**
     * Whether there was no memory a moment ago and no page was evicted since. Faults wait meanwhile: their fetches would take the slots that
     * eviction needs.
     */
    boolean isPaused() {
        return starved && clock.getAsLong() - pausedUntil < 0 && table.resident() >= residentThen;
    }

    /**
     * Installs a run of pages.
     *
     * @param source where they are in this process
     * @param write whether the guest is about to write to them, so that protecting them would only cost another fault
     * @return pages completed, 0 if the call has to be repeated
     */
    int copy(int page, int count, long source, boolean write) {
        long address = layout.addressOf(page);
        if (address == GuestLayout.NONE) {
            Installer sharer = sharers.of(page);
            return sharer == null ? unmapped(page) : sharer.copy(page, 1, source, true);
        }
        boolean protect = protects && !write;
        int run = layout.contiguous(page, count);
        long done = memory.uffd()
                .copy(address, source, (long) run * layout.pageBytes(), protect ? Userfaultfd.COPY_MODE_WP : 0);
        if (done > 0) {
            hasProtected |= protect;
            return installed(page, done, protect ? PageTable.CLEAN : PageTable.DIRTY);
        }
        if (done == -Errno.ENOENT) {
            if (run > 1) {
                return copy(page, run / 2, source, write);
            }
            Installer sharer = sharers.of(page);
            if (sharer != null) {
                wakeAt(address);
                return sharer.copy(page, 1, source, true);
            }
        }
        if (done == -Errno.EINVAL && protect) {
            log.warn(
                    "space {}: the VMM did not register its memory for write protection (UFFDIO_REGISTER_MODE_WP);"
                            + " nothing of it can be evicted",
                    space);
            protects = false;
            return copy(page, count, source, write);
        }
        return handleFailure(page, address, done);
    }

    /** Installs a run of zeros, which the guest may write to; returns as {@link #copy}. */
    int zero(int page, int count) {
        long address = layout.addressOf(page);
        if (address == GuestLayout.NONE) {
            Installer sharer = sharers.of(page);
            return sharer == null ? unmapped(page) : sharer.zero(page, 1);
        }
        int run = layout.pageBytes() == BASE_PAGE ? layout.contiguous(page, count) : 1;
        long done = layout.pageBytes() == BASE_PAGE
                ? memory.uffd().zeropage(address, (long) run * BASE_PAGE)
                : memory.uffd().copy(address, Zeros.address(), layout.pageBytes(), 0);
        if (done == -Errno.ENOENT) {
            if (run > 1) {
                return zero(page, run / 2);
            }
            Installer sharer = sharers.of(page);
            if (sharer != null) {
                wakeAt(address);
                return sharer.zero(page, 1);
            }
        }
        return done > 0 ? installed(page, done, PageTable.DIRTY) : handleFailure(page, address, done);
    }

    /** Maps a page that is in the page cache. Returns 1, 0 if the call has to be repeated, or {@link #ABSENT} if it is not there. */
    int map(int page) {
        long address = layout.addressOf(page);
        if (address == GuestLayout.NONE) {
            return 1;
        }
        long done = memory.uffd().continueAt(address, layout.pageBytes());
        if (done > 0) {
            return installed(page, done, PageTable.DIRTY);
        }
        return done == -Errno.EFAULT ? ABSENT : handleFailure(page, address, done);
    }

    private int installed(int page, long bytes, int state) {
        int count = (int) (bytes / layout.pageBytes());
        for (int i = 0; i < count; i++) {
            table.setState(page + i, state);
        }
        starved = false;
        return count;
    }

    private int handleFailure(int page, long address, long failure) {
        return switch ((int) -failure) {
            case Errno.EEXIST ->
                layout.pageBytes() == BASE_PAGE ? onExists(page, address) : onHugepageExists(page, address);
            case Errno.EAGAIN -> 0;
            case Errno.ENOENT, Errno.EFAULT -> {
                // The range was unmapped, or the file was truncated before it.
                wakeAt(address);
                yield unmapped(page);
            }
            case Errno.ESRCH -> {
                gone = true;
                yield 0;
            }
            default -> {
                pause((int) -failure);
                yield 0;
            }
        };
    }

    /**
     * The page exists already: wakes the waiting threads, which fault again. A page that the guest has given up exists only until the kernel
     * removes it, and its bytes are not kept.
     */
    private int onExists(int page, long address) {
        if (table.state(page) != PageTable.ZERO) {
            table.setState(page, PageTable.DIRTY);
        }
        wakeAt(address);
        return 1;
    }

    /**
     * EEXIST of a large page: the kernel already has it, or no hugepage is free. For a page of a file UFFDIO_CONTINUE tells the two apart. Other
     * memory is never evicted, so it is enough that the waiting threads fault again.
     */
    private int onHugepageExists(int page, long address) {
        if (shared) {
            long mapped = memory.uffd().continueAt(address, layout.pageBytes());
            if (mapped > 0) {
                return installed(page, mapped, PageTable.DIRTY);
            }
            if (mapped == -Errno.EEXIST) {
                return onExists(page, address);
            }
            return handleFailure(page, address, mapped == -Errno.EFAULT ? -Errno.ENOMEM : mapped);
        }
        unmapped(page);
        pause(Errno.ENOMEM);
        wakeAt(address);
        return 1;
    }

    /**
     * The VMM has unmapped the page without an event. A page that was being fetched is at its home again; others keep their state.
     */
    private int unmapped(int page) {
        if (table.state(page) == PageTable.FETCHING) {
            table.setState(page, table.has(page, PageTable.HAS_REMOTE_COPY) ? PageTable.REMOTE : PageTable.ZERO);
        }
        return 1;
    }

    /** ENOMEM above all: this host or the VMM's control group is out of memory. */
    private void pause(int errno) {
        if (!starved) {
            log.warn(
                    "space {}: a page cannot be installed: {}; trying again when a page was evicted, and every 10 ms",
                    space,
                    ErrnoName.of(errno));
        }
        starved = true;
        residentThen = table.resident();
        pausedUntil = clock.getAsLong() + PAUSE_NANOS;
    }

    /**
     * Lets the guest write to pages that are resident, and wakes threads that wait to.
     *
     * @return how many from the first on may be written to, or are no longer mapped; 0 if the call has to be repeated
     */
    int unprotect(int page, int count) {
        long address = layout.addressOf(page);
        if (address == GuestLayout.NONE) {
            return 1;
        }
        for (int run = layout.contiguous(page, count); ; run /= 2) {
            int result = memory.uffd().writeProtect(address, (long) run * layout.pageBytes(), false);
            if (result == 0) {
                return run;
            }
            if (result == -Errno.ESRCH) {
                gone = true;
                return 0;
            }
            if (result != -Errno.ENOENT) {
                return 0;
            }
            if (run == 1) {
                wakeAt(address);
                return 1;
            }
        }
    }

    /**
     * Keeps the guest from writing to pages that are resident.
     *
     * @return how many pages are protected; 0 if the first cannot be protected now, or is no longer mapped
     */
    int protect(int page, int count) {
        long address = layout.addressOf(page);
        if (address == GuestLayout.NONE) {
            return 0;
        }
        for (int run = layout.contiguous(page, count); ; run /= 2) {
            int result = memory.uffd().writeProtect(address, (long) run * layout.pageBytes(), true);
            if (result == 0) {
                hasProtected = true;
                return run;
            }
            if (result == -Errno.ENOENT && run > 1) {
                continue;
            }
            refused(-result);
            return 0;
        }
    }

    private void refused(int errno) {
        switch (errno) {
            case Errno.ESRCH -> gone = true;
            case Errno.EAGAIN, Errno.EINTR, Errno.ENOMEM -> {}
            default -> {
                // Other pages could be protected, so the VMM has unmapped this one without an event.
                if (errno != Errno.ENOENT || !hasProtected) {
                    log.warn(
                            "space {}: memory cannot be write-protected: {}; nothing of it can be evicted",
                            space,
                            ErrnoName.of(errno));
                    protects = false;
                }
            }
        }
    }

    /**
     * Probes whether the VMM's address space still exists, by a request at an address where no guest has memory. A request for a page of the
     * guest would be unsafe: UFFDIO_CONTINUE clears the write protection of a page that the kernel has unmapped.
     */
    void probe() {
        if (memory.uffd().continueAt(NOWHERE, layout.pageBytes()) == -Errno.ESRCH) {
            gone = true;
        }
    }

    /** Wakes the threads that wait for a page; they fault again if they still have to. */
    void wake(int page) {
        wake(page, 1);
    }

    private void wakeAt(long address) {
        memory.uffd().wake(address, layout.pageBytes());
    }

    /** As {@link #wake(int)}, of pages that are mapped one after the other. */
    void wake(int first, int count) {
        long address = layout.addressOf(first);
        if (address != GuestLayout.NONE) {
            memory.uffd().wake(address, (long) count * layout.pageBytes());
        }
    }

    /** Has the kernel send SIGBUS to threads that touch a page. */
    Poison poison(int page) {
        long address = layout.addressOf(page);
        if (address == GuestLayout.NONE) {
            return Poison.DONE;
        }
        long result = memory.uffd().poison(address, layout.pageBytes());
        if (result == -Errno.EEXIST) {
            // An evicted page leaves the marker of its protection in the page table, which the kernel does not replace.
            int cleared = memory.uffd().writeProtect(address, layout.pageBytes(), false);
            if (cleared == -Errno.EAGAIN) {
                return Poison.AGAIN;
            }
            result = memory.uffd().poison(address, layout.pageBytes());
        }
        if (result > 0) {
            return Poison.DONE;
        }
        return switch ((int) -result) {
            case Errno.EEXIST, Errno.ENOENT, Errno.EFAULT -> {
                // Poisoned before, or resident by another way, or not mapped, or beyond the file's end: the thread
                // finds out.
                wakeAt(address);
                yield Poison.DONE;
            }
            case Errno.ESRCH -> {
                gone = true;
                yield Poison.DONE;
            }
            case Errno.EINVAL -> Poison.UNSUPPORTED;
            default -> Poison.AGAIN;
        };
    }
}
