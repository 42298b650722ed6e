package io.farpage.agent.data.coherence;

import io.farpage.agent.data.pager.memory.Pins;
import io.farpage.agent.data.pager.page.GuestRegion;
import io.farpage.linux.uffd.GuestFile;
import io.farpage.linux.uffd.PageFaults;
import java.util.List;

/**
 * The guest of a member. Its pages are those of the space, of 4 KiB.
 *
 * @param id by which the homes know the member
 * @param space id of the space
 * @param name of the space, for messages
 * @param pages of the space, also those that are not mapped
 * @param uffd userfaultfd of the memory; used by the member alone from now on, and closed by its owner
 * @param file the memory file, which begins with page 0; closed by its owner
 * @param regions where the memory is
 * @param pins knows what may write to the memory past its write protection
 * @param kept the states of the pages
 */
public record MemberGuest(
        MemberId id,
        long space,
        String name,
        int pages,
        PageFaults uffd,
        GuestFile file,
        List<GuestRegion> regions,
        Pins pins,
        KeptMember kept) {
    /** Copies the list. */
    public MemberGuest {
        regions = List.copyOf(regions);
    }
}
