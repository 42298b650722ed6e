package io.farpage.agent.control.guest;

import io.farpage.agent.data.pager.home.SpaceMap;
import io.farpage.agent.data.pager.page.PresenceMap;
import io.farpage.coordinator.model.HeatReport;
import java.util.OptionalLong;

/**
 * The pages of a VMM over those of its space. They may have another size if nothing is written home: a space of 4 KiB
 * pages for a VMM on hugepages, and the other way round. Pagers, and what they report of a guest, count in pages of the
 * VMM; maps of the space, presence maps at the homes, and reports of heat count in pages of the space. Immutable.
 */
final class VmmPages {
    private final int bytes;
    private final int ofSpace;
    private final PresenceMap past;
    private final PresenceMap presence;

    /**
     * @param bytes of a page of the VMM
     * @param ofSpace bytes of a page of the space
     * @param past which pages the homes have, in pages of the space
     */
    VmmPages(int bytes, int ofSpace, PresenceMap past) {
        this.bytes = bytes;
        this.ofSpace = ofSpace;
        this.past = past;
        presence =
                bytes == ofSpace ? past : bytes < ofSpace ? past.finer(ofSpace / bytes) : past.coarser(bytes / ofSpace);
    }

    /**
     * Checks that a VMM can be served, if its pages have another size than those of the space.
     *
     * @param bytes of a page of the VMM
     * @param isEvictable whether it has handed over its memory file
     * @param isSealed whether the space is encrypted
     * @throws HandoffException saying why not, with both sizes
     */
    static void require(int bytes, SpaceMap space, boolean isEvictable, boolean isSealed) throws HandoffException {
        if (bytes == space.pageSize()) {
            return;
        }
        String sizes = "the VMM's memory has pages of %d bytes, the space of %d".formatted(bytes, space.pageSize());
        if (isEvictable) {
            throw new HandoffException(sizes + ", and whole pages of the space are evicted; load the image into a space"
                    + " with the VMM's page size, or send the userfaultfds without a memory file");
        }
        if (isSealed) {
            throw new HandoffException(sizes + ", whose pages are sealed one by one; create an encrypted space with the"
                    + " VMM's page size");
        }
        OptionalLong cut = space.firstCut(bytes);
        if (cut.isPresent()) {
            throw new HandoffException(sizes + ", in extents that begin within pages of the VMM, such as at page "
                    + cut.getAsLong() + " of the space; load the image into a space with the VMM's page size");
        }
    }

    /** A map of the space, in pages of the VMM. */
    SpaceMap map(SpaceMap space) {
        return bytes == ofSpace ? space : space.inPages(bytes);
    }

    /** Which pages the homes have, in pages of the VMM. */
    PresenceMap presence() {
        return presence;
    }

    /** A presence map of the VMM's pages, which has been made since, in pages of the space. */
    PresenceMap ofSpace(PresenceMap ofVmm) {
        if (bytes == ofSpace) {
            return ofVmm;
        }
        if (bytes < ofSpace) {
            return ofVmm.coarser(ofSpace / bytes);
        }
        PresenceMap map = past.copy();
        int parts = bytes / ofSpace;
        for (int page = 0; page < ofVmm.pages() * parts; page++) {
            // The homes have zeros for parts that they did not have, and nothing was written to them.
            map.set(page, map.get(page) == PresenceMap.ZERO ? PresenceMap.ZERO : ofVmm.get(page / parts));
        }
        return map;
    }

    /** How warm pages of the VMM are, in pages of the space. */
    HeatReport.Range ofSpace(HeatReport.Range range) {
        long first = range.firstPage() * bytes / ofSpace;
        long end = Math.ceilDiv((range.firstPage() + range.count()) * bytes, (long) ofSpace);
        return new HeatReport.Range(first, end - first, range.heat());
    }
}
