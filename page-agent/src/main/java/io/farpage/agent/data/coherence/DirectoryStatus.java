package io.farpage.agent.data.coherence;

import java.util.List;

/**
 * The directory of a coherent space on one of its homes, since it began: with the first member, and again when the
 * agent does.
 *
 * @param space id of the space
 * @param pages of the space that this node is the home of
 * @param members that may have pages
 * @param requests that were answered
 * @param recalls pages that were recalled from the member that had them for writing
 * @param invalidations pages that members were told to give up
 * @param waiting requests that wait for an earlier one of the same page, or for members that were not heard
 * @param lostPages pages whose newest version was lost with a member
 * @param bouncing the pages that members take from each other most often
 * @param parts how often members have taken pages from each other in each sixteenth of each extent
 */
public record DirectoryStatus(
        long space,
        long pages,
        List<MemberStatus> members,
        long requests,
        long recalls,
        long invalidations,
        int waiting,
        long lostPages,
        List<Bouncing> bouncing,
        List<Part> parts) {

    /**
     * A member.
     *
     * @param node its id
     * @param heard whether it has said on its present channel which pages it has, so that it is served
     */
    public record MemberStatus(String node, boolean heard) {}

    /**
     * A page that members take from each other.
     *
     * @param page of the space
     * @param moves how often; perhaps fewer, if many pages are taken
     * @param from the node that had it before
     * @param to the node that has taken it last
     */
    public record Bouncing(long page, long moves, String from, String to) {}

    /**
     * A part of the space.
     *
     * @param firstPage of the part, in the space
     * @param pages how many it has
     * @param taken how often one of them was taken from a member
     */
    public record Part(long firstPage, long pages, long taken) {}
}
