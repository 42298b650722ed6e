package io.farpage.agent.pager;

import java.util.ArrayList;
import java.util.List;

/** Which page of the space is where in the VMM's address space. Looking up allocates nothing; the VMM's remapping does. */
final class GuestLayout {
    /** No page, no address. */
    static final int NONE = -1;

    private final int pageBytes;
    private GuestRegion[] regions;

    /** @param regions aligned to pages, none overlapping another in either address space */
    GuestLayout(List<GuestRegion> regions, int pageBytes) {
        this.regions = regions.toArray(GuestRegion[]::new);
        this.pageBytes = pageBytes;
    }

    /** What another one is at the moment, to go its own way from then on. */
    GuestLayout(GuestLayout of) {
        this.regions = of.regions;
        this.pageBytes = of.pageBytes;
    }

    /** Becomes what another one is. */
    void take(GuestLayout other) {
        regions = other.regions;
    }

    int pageBytes() {
        return pageBytes;
    }

    /** The page at an address of the VMM, or {@link #NONE}. */
    int pageAt(long hostAddress) {
        for (GuestRegion region : regions) {
            if (hostAddress >= region.hostAddress() && hostAddress < region.hostEnd()) {
                return (int) ((region.offset() + hostAddress - region.hostAddress()) / pageBytes);
            }
        }
        return NONE;
    }

    /** Where a page is mapped, or {@link #NONE}. */
    long addressOf(int page) {
        long offset = offsetOf(page);
        for (GuestRegion region : regions) {
            if (offset >= region.offset() && offset < region.end()) {
                return region.hostAddress() + offset - region.offset();
            }
        }
        return NONE;
    }

    /** Whether nothing of it is mapped any more. */
    boolean isEmpty() {
        return regions.length == 0;
    }

    /** Where a page starts within the space and the memory file, bytes. */
    long offsetOf(int page) {
        return (long) page * pageBytes;
    }

    /** How many of {@code count} pages from {@code page} on are mapped one after the other. */
    int contiguous(int page, int count) {
        long offset = offsetOf(page);
        for (GuestRegion region : regions) {
            if (offset >= region.offset() && offset < region.end()) {
                return (int) Math.min(count, (region.end() - offset) / pageBytes);
            }
        }
        return 0;
    }

    /** The VMM unmapped a range. */
    void unmapped(long start, long end) {
        List<GuestRegion> left = new ArrayList<>();
        for (GuestRegion region : regions) {
            part(region, region.hostAddress(), Math.min(start, region.hostEnd()), left);
            part(region, Math.max(end, region.hostAddress()), region.hostEnd(), left);
        }
        regions = left.toArray(GuestRegion[]::new);
    }

    /** The VMM moved a range, mremap(2). */
    void moved(long from, long to, long length) {
        List<GuestRegion> inside = new ArrayList<>();
        for (GuestRegion region : regions) {
            part(region, Math.max(from, region.hostAddress()), Math.min(from + length, region.hostEnd()), inside);
        }
        unmapped(from, from + length);
        List<GuestRegion> all = new ArrayList<>(List.of(regions));
        for (GuestRegion region : inside) {
            all.add(new GuestRegion(region.hostAddress() - from + to, region.length(), region.offset()));
        }
        regions = all.toArray(GuestRegion[]::new);
    }

    private static void part(GuestRegion of, long start, long end, List<GuestRegion> to) {
        if (start < end) {
            to.add(new GuestRegion(start, end - start, of.offset() + start - of.hostAddress()));
        }
    }
}
