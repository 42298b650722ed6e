package io.farpage.agent.data.coherence;

import java.util.Collection;
import java.util.concurrent.CompletableFuture;

/** What a home does for coherent spaces. */
@FunctionalInterface
public interface CoherentHome {
    /**
     * Serves these extents from now on, each for these members, and no others. A member that is listed no longer is cut
     * off: no message of it is executed once this completes. Any thread.
     *
     * @param all replaces the former list
     * @return completes when shard 0 has applied the list
     */
    CompletableFuture<Void> host(Collection<HostedExtent> all);
}
