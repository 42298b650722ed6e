package io.farpage.agent.data.pager;

import io.farpage.agent.data.pager.evict.Flush;
import io.farpage.agent.data.pager.memory.AddressSpace;
import io.farpage.agent.data.pager.transfer.Transfers;
import org.jspecify.annotations.Nullable;

/**
 * What a pager does once its guest has ended: has the {@link Flush} write dirty pages back, and waits for transfers.
 * The shard's thread only, apart from {@link #begin}.
 */
final class Ending {
    private final @Nullable Flush flush;
    private final Transfers transfers;
    private volatile @Nullable String reason;

    /** @param flush null for memory that is never written back */
    Ending(AddressSpace memory, @Nullable Flush flush) {
        this.flush = flush;
        transfers = memory.context().transfers();
    }

    /** The guest has ended. Any thread. */
    void begin(String why) {
        reason = why;
    }

    boolean hasBegun() {
        return reason != null;
    }

    /** Whether it can continue without a completion. */
    boolean isBusy() {
        return flush == null || flush.isBusy();
    }

    /** Runs a duty cycle. Returns how many pages were examined. */
    int doWork() {
        return flush == null || flush.isDone() ? 0 : flush.doWork();
    }

    /** How the guest's paging ended; null while something is left to do. */
    @Nullable
    PagerEnd result() {
        return (flush != null && !flush.isDone()) || transfers.inUse() > 0
                ? null
                : new PagerEnd(String.valueOf(reason), flush != null && flush.isComplete());
    }
}
