package io.farpage.agent.data.pager.memory;

import io.farpage.agent.data.pager.page.GuestLayout;
import io.farpage.agent.data.pager.page.PageTable;
import io.farpage.agent.data.pager.page.Zeros;
import io.farpage.linux.Errno;
import io.farpage.linux.uffd.GuestFile;
import io.farpage.linux.uffd.Userfaultfd;
import org.jspecify.annotations.Nullable;

/**
 * Installs pages in the guest and updates the page table. Every call completes one page or more, or none because it has
 * to be repeated: the kernel refuses installation while an event waits to be read, and while the host has no memory.
 *
 * <p>The kernel refuses a range that is not in one mapping (ENOENT), and a VMM may split its mappings at any page:
 * mprotect(2), mlock(2) and madvise(2) all do. Such a range is halved until it fits. A single page that is refused is
 * no longer mapped there, and threads that wait for it are woken: they fault again at what is mapped now, or end by
 * SIGSEGV.
 */
public final class Installer {
    /** The page to map is not in the page cache. */
    public static final int ABSENT = -1;

    private final AddressSpace memory;
    private final GuestLayout layout;
    private final PageTable table;
    private final WriteProtection protection;
    private final HostMemory hostMemory;
    private final ForeignPages foreign;
    private final Sharers sharers;

    /** Finds other processes that map the same file, for pages that the VMM has unmapped. */
    @FunctionalInterface
    public interface Sharers {
        /** No other process maps the memory. */
        Sharers NONE = page -> null;

        /** The installer of another address space in which a page is mapped, or null if there is none. */
        @Nullable
        Installer of(int page);
    }

    public Installer(AddressSpace memory, Sharers sharers) {
        this.memory = memory;
        this.sharers = sharers;
        layout = memory.layout();
        table = memory.table();
        protection = memory.protection();
        hostMemory = new HostMemory(memory);
        foreign = new ForeignPages(memory.context());
    }

    /** Whether the host has memory for another page. */
    public HostMemory hostMemory() {
        return hostMemory;
    }

    /**
     * Installs a run of pages.
     *
     * @param source where they are in this process
     * @param write whether the guest is about to write to them, so that protecting them would only cost another fault
     * @return pages completed, 0 if the call has to be repeated
     */
    public int copy(int page, int count, long source, boolean write) {
        long address = layout.addressOf(page);
        if (address == GuestLayout.NONE) {
            Installer sharer = sharers.of(page);
            return sharer == null ? unmapped(page) : sharer.copy(page, 1, source, true);
        }
        boolean protect = protection.isSupported() && !write;
        int run = layout.contiguous(page, count);
        long done = memory.uffd()
                .copy(address, source, (long) run * layout.pageBytes(), protect ? Userfaultfd.COPY_MODE_WP : 0);
        if (done > 0) {
            if (protect) {
                protection.installed();
            }
            return installed(page, done, protect ? PageTable.CLEAN : PageTable.DIRTY);
        }
        if (done == -Errno.ENOENT) {
            if (run > 1) {
                return copy(page, run / 2, source, write);
            }
            Installer sharer = sharers.of(page);
            if (sharer != null) {
                memory.wakeAt(address);
                return sharer.copy(page, 1, source, true);
            }
        }
        if (done == -Errno.EINVAL && protect) {
            protection.disable("the VMM did not register its memory for write protection (UFFDIO_REGISTER_MODE_WP)");
            return copy(page, count, source, write);
        }
        return handleFailure(page, address, done);
    }

    /** Installs a run of zeros, which the guest may write to; returns as {@link #copy}. */
    public int zero(int page, int count) {
        long address = layout.addressOf(page);
        if (address == GuestLayout.NONE) {
            Installer sharer = sharers.of(page);
            return sharer == null ? unmapped(page) : sharer.zero(page, 1);
        }
        int run = layout.pageBytes() == GuestLayout.BASE_PAGE ? layout.contiguous(page, count) : 1;
        int before = announce(page, run);
        long done = layout.pageBytes() == GuestLayout.BASE_PAGE
                ? memory.uffd().zeropage(address, (long) run * GuestLayout.BASE_PAGE)
                : memory.uffd().copy(address, Zeros.address(), layout.pageBytes(), 0);
        retract(page, run, done, before);
        if (done == -Errno.ENOENT) {
            if (run > 1) {
                return zero(page, run / 2);
            }
            Installer sharer = sharers.of(page);
            if (sharer != null) {
                memory.wakeAt(address);
                return sharer.zero(page, 1);
            }
        }
        return done > 0 ? installed(page, done, PageTable.DIRTY) : handleFailure(page, address, done);
    }

    /**
     * Marks pages, all of one state, as dirty before the guest can write to them: a process that adopts the table must
     * find them so. It takes a dirty page that is absent for zeros. So a page that its home has keeps its state, which
     * says enough: if the page is resident, it was installed. Returns the state.
     */
    private int announce(int page, int run) {
        int before = table.state(page);
        if (before == PageTable.ZERO || table.isResident(page)) {
            for (int i = 0; i < run; i++) {
                table.setState(page + i, PageTable.DIRTY);
            }
        }
        return before;
    }

    /** Pages that were not installed are in the state that they were in. */
    private void retract(int page, int run, long done, int before) {
        for (int i = done > 0 ? (int) (done / layout.pageBytes()) : 0; i < run; i++) {
            table.setState(page + i, before);
        }
    }

    /**
     * Maps a page that is in the page cache. Returns 1, 0 if the call has to be repeated, or {@link #ABSENT} if the
     * page cache does not have it.
     */
    public int map(int page) {
        long address = layout.addressOf(page);
        if (address == GuestLayout.NONE) {
            return 1;
        }
        int before = announce(page, 1);
        long done = memory.uffd().continueAt(address, layout.pageBytes());
        retract(page, 1, done, before);
        if (done > 0) {
            return installed(page, done, PageTable.DIRTY);
        }
        return done == -Errno.EFAULT ? ABSENT : handleFailure(page, address, done);
    }

    /** Punches a page that the guest has given up out of the file, and wakes waiting threads. */
    public void discard(int page) {
        GuestFile file = memory.context().file();
        if (file != null) {
            file.punchHole(layout.offsetOf(page), layout.pageBytes());
        }
        memory.wake(page);
    }

    private int installed(int page, long bytes, int state) {
        int count = (int) (bytes / layout.pageBytes());
        for (int i = 0; i < count; i++) {
            table.setState(page + i, state);
        }
        hostMemory.installed();
        return count;
    }

    private int handleFailure(int page, long address, long failure) {
        return switch ((int) -failure) {
            case Errno.EEXIST ->
                layout.pageBytes() == GuestLayout.BASE_PAGE ? onExists(page, address) : onHugepageExists(page, address);
            case Errno.EAGAIN -> 0;
            case Errno.ENOENT, Errno.EFAULT -> {
                // The range was unmapped, or the file was truncated before it.
                memory.wakeAt(address);
                yield unmapped(page);
            }
            case Errno.ESRCH -> {
                memory.markGone();
                yield 0;
            }
            default -> {
                hostMemory.refused((int) -failure);
                yield 0;
            }
        };
    }

    /**
     * The page exists already: wakes the waiting threads, which fault again. A page that the guest has given up exists
     * only until the kernel removes it, and its bytes are not kept.
     */
    private int onExists(int page, long address) {
        foreign.onExists(page, table.state(page));
        if (table.state(page) != PageTable.ZERO) {
            table.setState(page, PageTable.DIRTY);
        }
        memory.wakeAt(address);
        return 1;
    }

    /**
     * EEXIST of a large page: the kernel already has it, or no hugepage is free. For a page of a file UFFDIO_CONTINUE
     * tells the two apart. Other memory is never evicted, so it is enough that the waiting threads fault again.
     */
    private int onHugepageExists(int page, long address) {
        if (memory.context().isShared()) {
            int before = announce(page, 1);
            long mapped = memory.uffd().continueAt(address, layout.pageBytes());
            retract(page, 1, mapped, before);
            if (mapped > 0) {
                foreign.onExists(page, before);
                return installed(page, mapped, PageTable.DIRTY);
            }
            if (mapped == -Errno.EEXIST) {
                return onExists(page, address);
            }
            return handleFailure(page, address, mapped == -Errno.EFAULT ? -Errno.ENOMEM : mapped);
        }
        unmapped(page);
        hostMemory.refused(Errno.ENOMEM);
        memory.wakeAt(address);
        return 1;
    }

    /**
     * The VMM has unmapped the page without an event. A page that was being fetched is at its home again; others keep
     * their state.
     */
    private int unmapped(int page) {
        if (table.state(page) == PageTable.FETCHING) {
            table.setState(page, table.has(page, PageTable.HAS_REMOTE_COPY) ? PageTable.REMOTE : PageTable.ZERO);
        }
        return 1;
    }
}
