package io.farpage.agent.data.coherence;

import java.util.Set;

/**
 * An extent of a coherent space whose home is this node.
 *
 * @param space id of the space
 * @param firstPage of the extent, in the space
 * @param pages how many it has, of 4 KiB
 * @param offset of its first frame in the exported frames of the pool, bytes
 * @param torn whether a member of the space has ended without sending its pages home
 * @param members all nodes that may have pages of it
 */
public record HostedExtent(long space, long firstPage, int pages, long offset, boolean torn, Set<MemberId> members) {
    /** Copies the set. */
    public HostedExtent {
        members = Set.copyOf(members);
    }

    /** Where it is, apart from its members. */
    HostedExtent withoutMembers() {
        return new HostedExtent(space, firstPage, pages, offset, false, Set.of());
    }
}
