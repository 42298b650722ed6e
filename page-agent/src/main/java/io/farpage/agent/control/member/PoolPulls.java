package io.farpage.agent.control.member;

import io.farpage.coordinator.model.Hosted;
import java.util.concurrent.CompletableFuture;

/** What this node copies into its own pool from other homes. Called by one thread. */
public interface PoolPulls {
    /**
     * Begins the pulls that are listed, and stops those that are no longer listed.
     *
     * @param hosted what the obeyed coordinator says now
     */
    void follow(Hosted hosted);

    /**
     * Ends all pulls to a range of the exported frames.
     *
     * @return completes when nothing more is written to the range
     */
    CompletableFuture<Void> stop(long offset, long length);
}
