package io.farpage.agent.data.coherence;

import io.farpage.agent.data.pager.PagerEnd;
import io.farpage.agent.data.pager.home.SpaceMap;
import io.farpage.agent.data.pager.page.PagerOptions;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** Makes this node a member of coherent spaces. Any thread. */
@FunctionalInterface
public interface CoherentMembers {
    /**
     * Makes a member, which does nothing until it is added to shard 0. If this throws, the guest is the caller's.
     *
     * @param map the latest map of the space: where its homes are. All its pages are lost once the space was deleted,
     *     or the homes have cut this member off
     * @param options local limit, readahead, and the deadline of the flush
     * @param ended called once, when the member has ended: the VMM has, and all pages that the member had changed are
     *     at their homes, which no longer count on it; or that failed, or took longer than the deadline of the flush;
     *     or {@link CoherentMember#fail}. The member has nothing under way then. Called on the shard's thread
     */
    CoherentMember make(MemberGuest guest, Supplier<SpaceMap> map, PagerOptions options, Consumer<PagerEnd> ended);
}
