package io.farpage.agent.data.pager.memory;

import io.farpage.agent.data.pager.page.GuestLayout;
import io.farpage.agent.data.pager.page.PageTable;
import io.farpage.agent.data.pager.page.VictimCache;
import io.farpage.linux.Errno;
import io.farpage.linux.uffd.GuestFile;
import io.farpage.linux.uffd.PageFaults;

/**
 * An address space that a guest's memory is mapped in: the VMM's, or that of a process that it forked. Joins its
 * userfaultfd, layout, page table and waiting faults, and makes the requests that change no page: wake, probe, poison.
 * The shard's thread only.
 */
public final class AddressSpace {
    /** An address at which no guest has memory: the lowest that a process may map. */
    private static final long NOWHERE = 0x10000;

    private final PagerContext context;
    private final GuestLayout layout;
    private final PageTable table;
    private final WriteProtection protection;
    private final WaitingFaults waiting;
    private final VictimCache victims;
    private PageFaults uffd;
    private boolean gone;

    /** The outcome of poisoning a page. */
    public enum Poison {
        /** Threads that touch the page get SIGBUS, or find that it is not mapped. */
        DONE,
        /** To be repeated: an event waits to be read, or the host has no memory. */
        AGAIN,
        /** The kernel has no UFFDIO_POISON. */
        UNSUPPORTED
    }

    /**
     * @param layout where pages are mapped
     * @param table states of the pages; processes that share the memory file have one
     * @param protects whether pages are installed write-protected, so that writes are noticed
     */
    public AddressSpace(PagerContext context, PageFaults uffd, GuestLayout layout, PageTable table, boolean protects) {
        this.context = context;
        this.uffd = uffd;
        this.layout = layout;
        this.table = table;
        protection = new WriteProtection(this, protects);
        waiting = new WaitingFaults(context.homes());
        victims = new VictimCache(table, context.victims());
    }

    public PagerContext context() {
        return context;
    }

    /** Its userfaultfd. */
    public PageFaults uffd() {
        return uffd;
    }

    public GuestLayout layout() {
        return layout;
    }

    public PageTable table() {
        return table;
    }

    public WriteProtection protection() {
        return protection;
    }

    /** Its faults that wait until the limit leaves a free frame, or a transfer slot is free. */
    public WaitingFaults waiting() {
        return waiting;
    }

    /** Its pages that were evicted a moment ago. */
    public VictimCache victims() {
        return victims;
    }

    /** The process has ended, and {@code successor}, which maps the same file, takes its place. */
    public void replaceBy(AddressSpace successor) {
        layout.copyFrom(successor.layout);
        uffd = successor.uffd;
        gone = false;
    }

    /** Whether the process has ended. */
    public boolean isGone() {
        return gone;
    }

    /** The kernel has answered ESRCH: the process has ended. */
    void markGone() {
        gone = true;
    }

    /**
     * Probes whether the process still exists, by a request at an address where no guest has memory. A request for a
     * page of the guest would be unsafe: UFFDIO_CONTINUE clears the write protection of a page that the kernel has
     * unmapped.
     */
    public void probe() {
        if (uffd.continueAt(NOWHERE, layout.pageBytes()) == -Errno.ESRCH) {
            gone = true;
        }
    }

    /**
     * Whether the memory file has a page that is mapped. A page that the VMM removes without an event, such as when it
     * is killed meanwhile, reads as zeros and is not there.
     */
    public boolean isInFile(int page) {
        GuestFile file = context.file();
        long address = layout.addressOf(page);
        if (file == null || address == GuestLayout.NONE) {
            return false;
        }
        return layout.pageBytes() == GuestLayout.BASE_PAGE
                ? file.firstPage(layout.offsetOf(page), GuestLayout.BASE_PAGE) == layout.offsetOf(page)
                // hugetlbfs calls holes data. The kernel maps nothing where a page is mapped.
                : uffd.continueAt(address, layout.pageBytes()) == -Errno.EEXIST;
    }

    /** Wakes the threads that wait for a page; they fault again if they still have to. */
    public void wake(int page) {
        wake(page, 1);
    }

    /** As {@link #wake(int)}, of pages that are mapped one after the other. */
    public void wake(int first, int count) {
        long address = layout.addressOf(first);
        if (address != GuestLayout.NONE) {
            uffd.wake(address, (long) count * layout.pageBytes());
        }
    }

    /** As {@link #wake(int)}, of the page at an address. */
    public void wakeAt(long address) {
        uffd.wake(address, layout.pageBytes());
    }

    /** Makes the kernel send SIGBUS to threads that touch a page. */
    public Poison poison(int page) {
        long address = layout.addressOf(page);
        return address == GuestLayout.NONE ? Poison.DONE : poisonAt(address);
    }

    /** As {@link #poison}, of the page at an address. */
    public Poison poisonAt(long address) {
        long result = uffd.poison(address, layout.pageBytes());
        if (result == -Errno.EEXIST) {
            // An evicted page leaves the marker of its protection in the page table, which the kernel does not replace.
            int cleared = uffd.writeProtect(address, layout.pageBytes(), false);
            if (cleared == -Errno.EAGAIN) {
                return Poison.AGAIN;
            }
            result = uffd.poison(address, layout.pageBytes());
        }
        if (result > 0) {
            return Poison.DONE;
        }
        return switch ((int) -result) {
            case Errno.EEXIST, Errno.ENOENT, Errno.EFAULT -> {
                // The page was poisoned before, is resident by another way, is not mapped, or lies beyond the file's
                // end. The thread faults again and finds out.
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
