package io.farpage.agent.data.pager.memory;

import io.farpage.agent.data.pager.page.PageTable;
import io.farpage.linux.ErrnoName;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Whether the host has memory for another page of an address space. While it has none (ENOMEM, no hugepage), one
 * resident page has to be evicted for each that is installed, and faults wait: their fetches would take the slots that
 * eviction needs. Several pagers of a guest share the memory: one that has none for long, and perhaps no page that it
 * can evict, is given some by the others. The shard's thread only, but for {@link #isShort}.
 */
public final class HostMemory {
    private static final Logger log = LoggerFactory.getLogger(HostMemory.class);
    /** How soon an installation is tried again for which there was no memory, if no page is evicted before. */
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    /** How long there has to be none until others give some. */
    private static final long SHORT_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final String space;
    private final PageTable table;
    private final LongSupplier clock;
    private boolean exhausted;
    private long exhaustedAt;
    private volatile boolean isShort;
    private long residentThen;
    private long pausedUntil;

    HostMemory(AddressSpace memory) {
        space = memory.context().space();
        table = memory.table();
        clock = memory.context().clock();
    }

    /** A page was installed. */
    void installed() {
        exhausted = false;
        if (isShort) {
            isShort = false;
        }
    }

    /** A page could not be installed: above all ENOMEM, of this host or of the VMM's control group. */
    void refused(int errno) {
        if (!exhausted) {
            log.warn(
                    "space {}: a page cannot be installed: {}; trying again when a page was evicted, and every 10 ms",
                    space,
                    ErrnoName.of(errno));
            exhaustedAt = clock.getAsLong();
        }
        isShort = clock.getAsLong() - exhaustedAt > SHORT_NANOS;
        exhaust();
        pausedUntil = clock.getAsLong() + PAUSE_NANOS;
    }

    private void exhaust() {
        exhausted = true;
        residentThen = table.resident();
    }

    /** Whether the host had no memory for the page that was to be installed last. */
    public boolean isExhausted() {
        return exhausted;
    }

    /** Whether no page could be installed for long, for lack of memory. Any thread. */
    public boolean isShort() {
        return isShort;
    }

    /** Another pager {@link #isShort}: some pages have to go. */
    public void give() {
        if (!exhausted) {
            exhaustedAt = clock.getAsLong();
            pausedUntil = exhaustedAt;
            exhaust();
        }
    }

    /**
     * How many pages may be resident. If there was no memory for another page, that is one less than were resident
     * then: one of them has to go, and the guest may have given up some since the table counted them.
     */
    public int maxResident(int limit) {
        return exhausted ? (int) Math.min(limit, Math.max(0, residentThen - 1)) : limit;
    }

    /** Whether there was no memory a moment ago and no page was evicted since. */
    public boolean isPaused() {
        return exhausted && clock.getAsLong() - pausedUntil < 0 && table.resident() >= residentThen;
    }
}
