package io.farpage.agent.data.coherence;

import java.util.Optional;
import java.util.Set;

/**
 * An extent of a coherent space that has this node as a home.
 *
 * @param space id of the space
 * @param firstPage of the extent, in the space
 * @param pages how many it has, of 4 KiB
 * @param offset of its first frame in the exported frames of the pool, bytes
 * @param torn whether a member of the space has ended without sending its pages home
 * @param members all nodes that may have pages of it
 * @param directory the first home, which has the directory; empty if that is this node
 * @param second the second home, if this node is the first, and there is another
 * @param isMoved whether its homes have changed since it was made
 */
public record HostedExtent(
        long space,
        long firstPage,
        int pages,
        long offset,
        boolean torn,
        Set<MemberId> members,
        Optional<String> directory,
        Optional<String> second,
        boolean isMoved) {
    /** Copies the set. */
    public HostedExtent {
        members = Set.copyOf(members);
    }

    /** An extent whose only home is this node. */
    static HostedExtent of(long space, long firstPage, int pages, long offset, boolean torn, Set<MemberId> members) {
        return new HostedExtent(
                space, firstPage, pages, offset, torn, members, Optional.empty(), Optional.empty(), false);
    }

    /** Where it is. */
    Place place() {
        return new Place(firstPage, pages, offset);
    }

    /**
     * Where an extent is.
     *
     * @param firstPage of the extent, in the space
     * @param pages how many it has
     * @param offset of its first frame in the exported frames of the pool, bytes
     */
    record Place(long firstPage, int pages, long offset) {}
}
