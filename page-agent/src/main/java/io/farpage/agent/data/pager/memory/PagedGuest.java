package io.farpage.agent.data.pager.memory;

import io.farpage.agent.data.pager.page.GuestRegion;
import io.farpage.agent.data.pager.page.KeptTable;
import io.farpage.agent.data.pager.page.PresenceMap;
import io.farpage.agent.data.seal.PageSeal;
import io.farpage.linux.uffd.GuestFile;
import io.farpage.linux.uffd.PageFaults;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The guest of a pager.
 *
 * @param space its name, for messages
 * @param uffd userfaultfd of the memory; used by the pager alone from now on, and closed by its owner
 * @param file the memory file; null for memory that is never evicted
 * @param regions where the memory is
 * @param pageBytes bytes of a page: 4096 or 2097152
 * @param written whether the pages may hold data at their homes, rather than all being zeros
 * @param presence which pages they have then, and which of them to prefetch; not used if the table was adopted
 * @param pins knows what may write to the memory past its write protection
 * @param seal seals the pages for their homes; null if the homes may read them. Closed by {@code Pager.close}
 * @param kept what outlives this process; null if nothing does
 * @param isFilledByVmm whether the VMM may put pages that are not resident into the file itself: the memory is
 *     registered for minor faults
 */
public record PagedGuest(
        String space,
        PageFaults uffd,
        @Nullable GuestFile file,
        List<GuestRegion> regions,
        int pageBytes,
        boolean written,
        PresenceMap presence,
        Pins pins,
        @Nullable PageSeal seal,
        @Nullable KeptTable kept,
        boolean isFilledByVmm) {}
