package io.farpage.agent.data.coherence;

import java.util.Collection;
import java.util.concurrent.CompletableFuture;

/** What a home does for coherent spaces. Any thread. */
@FunctionalInterface
public interface CoherentHome {
    /**
     * Replaces the extents that have this node as a home. The first call of a process names all that an earlier process
     * of this node may have served. A member that is no longer listed is cut off: none of its messages is answered, and
     * the pages that it alone had are lost.
     *
     * @return completes when this node serves these, and no others
     */
    CompletableFuture<Void> host(Collection<HostedExtent> all);
}
