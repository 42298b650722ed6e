package io.farpage.agent.data.pager.memory;

import io.farpage.agent.data.pager.page.GuestLayout;
import io.farpage.linux.Errno;
import io.farpage.linux.ErrnoName;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Write protection of one address space's pages (UFFDIO_WRITEPROTECT): a store to a protected page faults, so that the
 * pager knows which pages are newer than at their homes. Without it nothing can be evicted. A range that is not in one
 * mapping is halved until it fits. The shard's thread only.
 */
public final class WriteProtection {
    private static final Logger log = LoggerFactory.getLogger(WriteProtection.class);

    private final AddressSpace memory;
    private boolean supported;
    private boolean worked;
    private int maybeWritable;

    /** @param supported whether it is used */
    WriteProtection(AddressSpace memory, boolean supported) {
        this.memory = memory;
        this.supported = supported;
    }

    /** Whether pages can be write-protected: without that none can be evicted. */
    public boolean isSupported() {
        return supported;
    }

    /** Pages were installed write-protected. */
    void installed() {
        worked = true;
    }

    /** The kernel has refused to protect memory: nothing is protected from now on. */
    void disable(String why) {
        supported = false;
        log.warn("space {}: {}; nothing of it can be evicted", memory.context().space(), why);
    }

    /**
     * Lets the guest write to pages that are resident, and wakes threads that wait to. The kernel answers ENOENT at the
     * first page that is not mapped or cannot be protected, when it has changed those before it.
     *
     * @return how many from the first on may be written to, or are no longer mapped; 0 if the call has to be repeated
     */
    public int unprotect(int page, int count) {
        GuestLayout layout = memory.layout();
        long address = layout.addressOf(page);
        maybeWritable = 0;
        if (address == GuestLayout.NONE) {
            maybeWritable = 1;
            return 1;
        }
        for (int run = layout.contiguous(page, count); ; run /= 2) {
            int result = memory.uffd().writeProtect(address, (long) run * layout.pageBytes(), false);
            if (result == 0 || result == -Errno.ENOENT) {
                maybeWritable = Math.max(maybeWritable, run);
            }
            if (result == 0) {
                return run;
            }
            if (result == -Errno.ESRCH) {
                memory.markGone();
                return 0;
            }
            if (result != -Errno.ENOENT) {
                return 0;
            }
            if (run == 1) {
                memory.wakeAt(address);
                return 1;
            }
        }
    }

    /**
     * How many pages from the first on the latest {@link #unprotect} may have made writable: as many as it returned, or
     * more.
     */
    public int maybeWritable() {
        return maybeWritable;
    }

    /**
     * Keeps the guest from writing to pages that are resident.
     *
     * @return how many pages are protected; 0 if the first cannot be protected now, or is no longer mapped
     */
    public int protect(int page, int count) {
        GuestLayout layout = memory.layout();
        long address = layout.addressOf(page);
        if (address == GuestLayout.NONE) {
            return 0;
        }
        for (int run = layout.contiguous(page, count); ; run /= 2) {
            int result = memory.uffd().writeProtect(address, (long) run * layout.pageBytes(), true);
            if (result == 0) {
                worked = true;
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
            case Errno.ESRCH -> memory.markGone();
            case Errno.EAGAIN, Errno.EINTR, Errno.ENOMEM -> {}
            default -> {
                // Other pages could be protected, so the VMM has unmapped this one without an event.
                if (errno != Errno.ENOENT || !worked) {
                    disable("memory cannot be write-protected: " + ErrnoName.of(errno));
                }
            }
        }
    }
}
