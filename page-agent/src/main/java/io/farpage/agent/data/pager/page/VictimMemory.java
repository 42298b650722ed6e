package io.farpage.agent.data.pager.page;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * The memory that the victim caches of all guests of an agent may take together. Thread-safe.
 *
 * @see VictimCache
 */
public final class VictimMemory {
    /** No guest has a victim cache. */
    public static final VictimMemory NONE = new VictimMemory(0);

    /** A guest's share of its own limit: enough for pages that are touched again soon after they were evicted. */
    private static final int SHARE = 16;

    private final int share;
    private final AtomicInteger free;

    /** @param pages pages of 4 KiB, 0 or more */
    public VictimMemory(int pages) {
        this(pages, SHARE);
    }

    /** As many whole pages as {@code bytes} hold, 8 TiB at most. */
    public static VictimMemory ofBytes(long bytes) {
        return new VictimMemory((int) (bytes / GuestLayout.BASE_PAGE));
    }

    /** @param share what a guest's limit is divided by */
    public VictimMemory(int pages, int share) {
        this.share = share;
        free = new AtomicInteger(pages);
    }

    /**
     * Takes the share of a guest that may have {@code limit} pages, and half of what is free at most, so that the next
     * guest finds some. Returns how many pages.
     */
    int take(int limit) {
        while (true) {
            int available = free.get();
            int taken = Math.min(limit / share, available / 2);
            if (taken == 0 || free.compareAndSet(available, available - taken)) {
                return taken;
            }
        }
    }

    /** Gives pages back. */
    void giveBack(int pages) {
        free.addAndGet(pages);
    }
}
