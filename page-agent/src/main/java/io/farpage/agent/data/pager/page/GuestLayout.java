package io.farpage.agent.data.pager.page;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;

/**
 * Which page of the space is where in the VMM's address space. Looking up is a binary search and allocates nothing; the
 * VMM's remapping does, and takes time in proportion to {@link #regions}.
 */
public final class GuestLayout {
    /** Bytes of the smallest page, which the kernel can fill with zeros by itself (UFFDIO_ZEROPAGE). */
    public static final int BASE_PAGE = 4096;

    /** No page, no address. */
    public static final int NONE = -1;

    /** As an address: nothing is mapped from there on. */
    static final long NOWHERE = Long.MAX_VALUE;

    private final int pageBytes;
    private GuestRegion[] byAddress = {};
    private GuestRegion[] byOffset = {};

    /** @param regions aligned to pages, none overlapping another in either address space */
    public GuestLayout(List<GuestRegion> regions, int pageBytes) {
        this.pageBytes = pageBytes;
        set(regions);
    }

    /** A copy of another layout, which then changes independently. */
    public GuestLayout(GuestLayout of) {
        this.pageBytes = of.pageBytes;
        copyFrom(of);
    }

    /** Copies another layout. */
    public void copyFrom(GuestLayout other) {
        byAddress = other.byAddress;
        byOffset = other.byOffset;
    }

    private void set(List<GuestRegion> regions) {
        byAddress = regions.toArray(GuestRegion[]::new);
        byOffset = byAddress.clone();
        Arrays.sort(byAddress, Comparator.comparingLong(GuestRegion::hostAddress));
        Arrays.sort(byOffset, Comparator.comparingLong(GuestRegion::offset));
    }

    public int pageBytes() {
        return pageBytes;
    }

    /** How many pieces the memory is in. */
    public int regions() {
        return byAddress.length;
    }

    /** The pieces. */
    public List<GuestRegion> list() {
        return List.of(byAddress);
    }

    /** The page at an address of the VMM, or {@link #NONE}. */
    public int pageAt(long hostAddress) {
        int index = endingAfter(hostAddress);
        if (index == byAddress.length || byAddress[index].hostAddress() > hostAddress) {
            return NONE;
        }
        GuestRegion region = byAddress[index];
        return (int) ((region.offset() + hostAddress - region.hostAddress()) / pageBytes);
    }

    /** The lowest address from {@code hostAddress} on at which a page is mapped, or {@link #NOWHERE}. */
    public long mappedFrom(long hostAddress) {
        int index = endingAfter(hostAddress);
        return index == byAddress.length ? NOWHERE : Math.max(hostAddress, byAddress[index].hostAddress());
    }

    /** Where the region ends that has a mapped address; pages follow one another up to there. */
    public long mappedUntil(long hostAddress) {
        return byAddress[endingAfter(hostAddress)].hostEnd();
    }

    /** Index of the first region that ends after an address. */
    private int endingAfter(long hostAddress) {
        int low = 0;
        int high = byAddress.length;
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (byAddress[middle].hostEnd() > hostAddress) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        return low;
    }

    /** Index of the region that has an offset, or {@link #NONE}. */
    private int having(long offset) {
        int low = 0;
        int high = byOffset.length;
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (byOffset[middle].end() > offset) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        return low < byOffset.length && byOffset[low].offset() <= offset ? low : NONE;
    }

    /** Where a page is mapped, or {@link #NONE}. */
    public long addressOf(int page) {
        long offset = offsetOf(page);
        int index = having(offset);
        return index == NONE ? NONE : byOffset[index].hostAddress() + offset - byOffset[index].offset();
    }

    /** Whether no part of it is mapped. */
    public boolean isEmpty() {
        return byAddress.length == 0;
    }

    /** Where a page starts within the space and the memory file, bytes. */
    public long offsetOf(int page) {
        return (long) page * pageBytes;
    }

    /** How many of {@code count} pages from {@code page} on are mapped one after the other. */
    public int contiguous(int page, int count) {
        long offset = offsetOf(page);
        int index = having(offset);
        return index == NONE ? 0 : (int) Math.min(count, (byOffset[index].end() - offset) / pageBytes);
    }

    /** The VMM unmapped a range. */
    public void unmapped(long start, long end) {
        if (mappedFrom(start) < end) {
            set(without(start, end));
        }
    }

    private List<GuestRegion> without(long start, long end) {
        List<GuestRegion> left = new ArrayList<>(byAddress.length + 1);
        for (GuestRegion region : byAddress) {
            part(region, region.hostAddress(), Math.min(start, region.hostEnd()), left);
            part(region, Math.max(end, region.hostAddress()), region.hostEnd(), left);
        }
        return left;
    }

    /** The VMM moved a range, mremap(2). What was mapped where it went is unmapped. */
    public void moved(long from, long to, long length) {
        List<GuestRegion> inside = new ArrayList<>();
        for (GuestRegion region : byAddress) {
            part(region, Math.max(from, region.hostAddress()), Math.min(from + length, region.hostEnd()), inside);
        }
        unmapped(from, from + length);
        List<GuestRegion> all = without(to, to + length);
        for (GuestRegion region : inside) {
            all.add(new GuestRegion(region.hostAddress() - from + to, region.length(), region.offset()));
        }
        set(all);
    }

    private static void part(GuestRegion of, long start, long end, List<GuestRegion> to) {
        if (start < end) {
            to.add(new GuestRegion(start, end - start, of.offset() + start - of.hostAddress()));
        }
    }
}
