package io.farpage.agent.control.member;

import io.farpage.coordinator.model.Hosted;

/** What this node copies into its own pool from other homes. Any thread, except where said. */
public interface PoolPulls {
    /** What lies in the pool is asked for now. Not at the same time as {@link #follow}. */
    void refreshing();

    /**
     * Begins what is to be pulled, and stops what is not any more. A range that {@link #stop} has named since
     * {@link #refreshing} is not written to, since the answer may be older than the release of the range.
     *
     * @param hosted what the obeyed coordinator says now
     */
    void follow(Hosted hosted);

    /**
     * Ends all pulls to a range of the exported frames, which is about to be zeroed. When this returns, nothing more is
     * written to it.
     *
     * @throws IllegalStateException if the shard does not answer: to be tried again, and the range must not be given
     *     away before
     */
    void stop(long offset, long length) throws InterruptedException;
}
