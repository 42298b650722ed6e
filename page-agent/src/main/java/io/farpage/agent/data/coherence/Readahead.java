package io.farpage.agent.data.coherence;

import io.farpage.agent.data.pager.fault.ReadaheadPredictor;
import io.farpage.agent.data.pager.memory.PagerCounters;

/**
 * Requests pages that a process reads next. Directories grant them only if no member has to give anything up. The
 * shard's thread only.
 */
final class Readahead {
    /** Pages that a fault requests at most: the one that faulted, and those behind it. */
    private static final int MAX_WINDOW = 9;

    private final MemberPages pages;
    private final MemberHomes homes;
    private final Evictions evictions;
    private final PagerCounters counters;
    private final ReadaheadPredictor predictor;

    /** @param window pages that a fault requests at most; 1 turns readahead off */
    Readahead(MemberPages pages, MemberHomes homes, Evictions evictions, PagerCounters counters, int window) {
        this.pages = pages;
        this.homes = homes;
        this.evictions = evictions;
        this.counters = counters;
        predictor = new ReadaheadPredictor(Math.min(window, MAX_WINDOW));
    }

    /** A page was requested to be read, for a thread. */
    void follow(int page, long seenAt) {
        int window = predictor.fault(page);
        int next = page + 1;
        while (next - page < window && next < pages.size() && request(next, seenAt)) {
            next++;
        }
        if (next - page < window) {
            predictor.truncated(next - page, next - page);
        }
    }

    private boolean request(int page, long seenAt) {
        if (pages.state(page) != MemberPages.INVALID || homes.isLost(page) || !evictions.hasRoom()) {
            return false;
        }
        Port port = homes.of(page);
        if (!port.mayReadAhead()) {
            return false;
        }
        pages.setState(page, MemberPages.READING);
        pages.set(page, MemberPages.AHEAD);
        port.request(MessageKind.GETS, CoherentMessage.IF_FREE, page, seenAt);
        counters.prefetched().add(1);
        return true;
    }
}
