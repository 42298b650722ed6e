package io.farpage.agent.data.coherence;

/**
 * Keeps the resident pages of a member below its limit: goes round all pages and evicts each that it may, so that the
 * page that was passed longest ago goes first. A shared page is dropped at once; a modified one is sent home first. The
 * shard's thread only, but for {@link #resize}.
 */
final class Evictions {
    /** Pages that are looked at in a duty cycle. */
    private static final int SWEEP = 512;

    private static final int MAX_FREE = 64;

    private final MemberPages pages;
    private final Victims victims;
    private volatile int limit;
    private int hand;

    /** Evicts pages. */
    interface Victims {
        /** Evicts a page. Returns whether the page is not resident, or will not be in a moment. */
        boolean evict(int page);
    }

    Evictions(MemberPages pages, int limit, Victims victims) {
        this.pages = pages;
        this.limit = limit;
        this.victims = victims;
    }

    /** Any thread. */
    void resize(int newLimit) {
        limit = newLimit;
    }

    int limit() {
        return limit;
    }

    /** Whether another page may become resident. */
    boolean hasRoom() {
        return pages.held() < limit;
    }

    /**
     * Evicts pages if few may still become resident.
     *
     * @param waiting faults that wait, perhaps for that
     * @return how many
     */
    int doWork(int waiting) {
        int low = Math.min(limit / 16, MAX_FREE);
        int free = free();
        if (free > 0 && free >= low) {
            return 0;
        }
        int wanted = Math.max(2 * low, Math.min(waiting, limit)) - free - leaving();
        int evicted = 0;
        for (int i = Math.min(SWEEP, pages.size()); i > 0 && evicted < wanted; i--) {
            int page = hand;
            hand = hand + 1 == pages.size() ? 0 : hand + 1;
            if (victims.evict(page)) {
                evicted++;
            }
        }
        return evicted;
    }

    private int free() {
        return limit - pages.held();
    }

    /** Pages that are being sent home: most of them leave. */
    private int leaving() {
        return pages.count(MemberPages.SENDING);
    }
}
