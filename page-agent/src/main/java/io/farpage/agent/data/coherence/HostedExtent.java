package io.farpage.agent.data.coherence;

import java.util.Set;

/**
 * An extent of a coherent space whose home is this node.
 *
 * @param space id of the space
 * @param firstPage of the extent, in the space
 * @param pages how many it has
 * @param offset of its first frame in the exported frames of the pool, bytes
 * @param members all that may have pages of it
 */
public record HostedExtent(long space, long firstPage, int pages, long offset, Set<MemberId> members) {
    /** Copies the set. */
    public HostedExtent {
        members = Set.copyOf(members);
    }
}
