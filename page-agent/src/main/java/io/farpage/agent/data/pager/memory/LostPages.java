package io.farpage.agent.data.pager.memory;

import io.farpage.agent.data.pager.page.PageTable;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Pages that are lost with their home, or that their home has altered, and that a thread has asked for. The kernel
 * sends SIGBUS to threads that touch them, so these never see zeros. The shard's thread only.
 */
public final class LostPages {
    private static final Logger log = LoggerFactory.getLogger(LostPages.class);

    private static final long ALTERED_LOG_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final AddressSpace memory;
    private final String space;
    private final PageTable table;
    private final PagerCounters counters;
    private final FaultQueue unpoisoned = new FaultQueue();
    private long alteredLoggedAt;
    private long alteredUnlogged;
    private boolean alteredSeen;

    public LostPages(AddressSpace memory) {
        this.memory = memory;
        table = memory.table();
        space = memory.context().space();
        counters = memory.context().counters();
    }

    /** Whether some are not poisoned yet. */
    public boolean isWaiting() {
        return !unpoisoned.isEmpty();
    }

    /** Marks a page as lost. */
    public void lose(int page) {
        if (table.state(page) != PageTable.LOST) {
            counters.lost().add(1);
            log.error("space {}: page {} is lost with its home; the guest is told by SIGBUS", space, page);
            table.setState(page, PageTable.LOST);
        }
        add(page);
    }

    /** Marks a page as lost that came from its home other than it was sealed. At most one a second is logged. */
    public void altered(int page) {
        PagerContext context = memory.context();
        counters.integrityFailures().add(1);
        long now = context.clock().getAsLong();
        if (alteredSeen && now - alteredLoggedAt < ALTERED_LOG_NANOS) {
            alteredUnlogged++;
        } else {
            log.error(
                    "space {}: page {} came from node {} other than it was sealed: altered, of an earlier moment, or"
                            + " another page; the guest is told by SIGBUS ({} more such pages since the last line)",
                    space,
                    page,
                    context.homes().name(context.homes().extent(page)),
                    alteredUnlogged);
            alteredSeen = true;
            alteredLoggedAt = now;
            alteredUnlogged = 0;
        }
        table.setState(page, PageTable.LOST);
        add(page);
    }

    /** Marks a page as lost and poisons it at once: the kernel has left zeros in its place in the memory file. */
    public void zeroed(int page) {
        counters.lost().add(1);
        table.setState(page, PageTable.LOST);
        add(page);
        poison();
    }

    /** Adds a page that is marked as lost already. */
    public void add(int page) {
        unpoisoned.add(page, false, 0);
    }

    /** Poisons the pages, until the kernel refuses. Returns the amount of work. */
    public int poison() {
        int work = 0;
        for (int left = unpoisoned.size(); left > 0; left--) {
            int page = unpoisoned.page();
            AddressSpace.Poison poison = AddressSpace.Poison.DONE;
            if (table.state(page) == PageTable.LOST) {
                poison = memory.poison(page);
            } else {
                // The guest has given the page up meanwhile. Threads that wait for it fault again and get zeros.
                memory.wake(page);
            }
            if (poison == AddressSpace.Poison.AGAIN) {
                return work;
            }
            if (poison == AddressSpace.Poison.UNSUPPORTED) {
                log.error(
                        "space {}: this kernel cannot poison pages (UFFDIO_POISON, Linux 6.6); threads that touch page"
                                + " {} wait for ever",
                        space,
                        page);
            }
            unpoisoned.remove();
            work++;
        }
        return work;
    }

    /** The guest has ended: forgets the pages. Returns no work. */
    public int discard() {
        while (!unpoisoned.isEmpty()) {
            unpoisoned.remove();
        }
        return 0;
    }
}
