package io.farpage.agent.control.guest;

import io.farpage.agent.data.pager.page.GuestRegion;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * The part of a space that one userfaultfd's pager serves, as though it were a space of its own: pages and offsets
 * count from its start. The slices of a guest cover its space: every page is in exactly one of them, whether it is
 * mapped or not.
 *
 * @param base where the slice starts in the space and in the memory file, bytes
 * @param firstPage the first page of the slice
 * @param pages number of pages
 * @param regions where the memory of the slice is; their offsets count from the start of the slice
 */
record Slice(long base, int firstPage, int pages, List<GuestRegion> regions) {

    /**
     * Divides a space into slices.
     *
     * @param byUserfaultfd the regions of each userfaultfd, one or more
     * @param spacePages pages of the space
     * @return a slice for each userfaultfd, in the same order
     * @throws HandoffException if the regions of two userfaultfds lie between one another
     */
    static List<Slice> of(List<List<GuestRegion>> byUserfaultfd, int pageBytes, int spacePages)
            throws HandoffException {
        List<Integer> inSpace = new ArrayList<>();
        for (int i = 0; i < byUserfaultfd.size(); i++) {
            inSpace.add(i);
        }
        inSpace.sort(Comparator.comparingLong(i -> start(byUserfaultfd.get(i))));
        Slice[] slices = new Slice[byUserfaultfd.size()];
        int first = 0;
        for (int at = 0; at < slices.length; at++) {
            int self = inSpace.get(at);
            int end = spacePages;
            if (at + 1 < slices.length) {
                int next = inSpace.get(at + 1);
                if (end(byUserfaultfd.get(self)) > start(byUserfaultfd.get(next))) {
                    throw new HandoffException(("the regions of userfaultfd %d and of userfaultfd %d lie between one"
                                    + " another; give each userfaultfd one part of the space")
                            .formatted(self, next));
                }
                end = (int) (start(byUserfaultfd.get(next)) / pageBytes);
            }
            long base = (long) first * pageBytes;
            slices[self] = new Slice(base, first, end - first, relativeTo(base, byUserfaultfd.get(self)));
            first = end;
        }
        return List.of(slices);
    }

    private static List<GuestRegion> relativeTo(long base, List<GuestRegion> regions) {
        return regions.stream()
                .map(region -> new GuestRegion(region.hostAddress(), region.length(), region.offset() - base))
                .toList();
    }

    private static long start(List<GuestRegion> regions) {
        return regions.stream().mapToLong(GuestRegion::offset).min().orElseThrow();
    }

    private static long end(List<GuestRegion> regions) {
        return regions.stream().mapToLong(GuestRegion::end).max().orElseThrow();
    }

    /** Where the memory of the slice ends in the space and in the memory file. */
    long mappedEnd() {
        return base + end(regions);
    }

    /** Bytes of its regions. */
    long mappedBytes() {
        return regions.stream().mapToLong(GuestRegion::length).sum();
    }
}
