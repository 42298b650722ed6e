package io.farpage.agent.data.coherence;

import io.farpage.agent.data.pager.PagerStatus;
import io.farpage.agent.data.pager.memory.PagerCounters;
import io.farpage.agent.data.pager.page.PageCensus;
import io.farpage.agent.data.shard.DutyCycle;

/**
 * A member of a coherent space: serves the faults of its guest, and gives pages up when their homes ask for them. It
 * runs on shard 0, whose thread alone calls what is not for any thread.
 */
public interface CoherentMember extends DutyCycle {
    /** Counts and latencies of its faults. Any thread. */
    PagerCounters counters();

    /** Where its pages are. Any thread. */
    PagerStatus status();

    /** Counts where its pages are, page by page. Any thread. */
    void count(PageCensus census);

    /** Sets how many pages may be resident. It applies to the next duty cycle. Any thread. */
    void resize(int localPages);

    /** Looks whether the VMM's address space still exists. If not, the member flushes, leaves, and ends. */
    void probe();

    /**
     * The guest can no longer be a member: something may write to its memory past write protection, or the VMM has
     * forked. Nothing more is served or sent, faults get SIGBUS, and the member ends without a flush. Does nothing if
     * it has ended.
     *
     * @param reason for people
     */
    void fail(String reason);

    /** Whether the map has lost all pages, and no message of this member is under way or will be. */
    boolean isCutOff();

    /** Frees its tables. Call it when the shard no longer runs it. Any thread. */
    void close();
}
