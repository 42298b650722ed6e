package io.farpage.agent.data.pager;

import java.util.Arrays;
import java.util.List;

/** Where the pages of one space live. Immutable; looking up a page allocates nothing. */
public final class SpaceMap {
    private final String name;
    private final long id;
    private final boolean[] lost;
    private final long pages;
    private final int pageSize;
    private final long[] firstPage;
    private final String[] node;
    private final long[] incarnation;
    private final long[] offset;

    /**
     * A run of pages that live one after the other.
     *
     * @param node their home
     * @param incarnation the incarnation of the home in which they live
     * @param offset where the first one starts within the home's exported frames, bytes
     * @param isLost whether they are gone with their home
     */
    public record Extent(long firstPage, long count, String node, long incarnation, long offset, boolean isLost) {}

    /**
     * @param id the coordinator's id of the space
     * @param pageSize bytes of a page
     * @param extents in the order of their pages
     * @throws IllegalArgumentException if the extents leave a gap or overlap
     */
    public SpaceMap(String name, long id, long pages, int pageSize, List<Extent> extents) {
        requireAll(name, pages, extents);
        this.name = name;
        this.id = id;
        this.pages = pages;
        this.pageSize = pageSize;
        lost = new boolean[extents.size()];
        for (int i = 0; i < lost.length; i++) {
            lost[i] = extents.get(i).isLost();
        }
        firstPage = extents.stream().mapToLong(Extent::firstPage).toArray();
        node = extents.stream().map(Extent::node).toArray(String[]::new);
        incarnation = extents.stream().mapToLong(Extent::incarnation).toArray();
        offset = extents.stream().mapToLong(Extent::offset).toArray();
    }

    private static void requireAll(String name, long pages, List<Extent> extents) {
        long next = 0;
        for (Extent extent : extents) {
            if (extent.firstPage() != next || extent.count() < 1) {
                throw new IllegalArgumentException(
                        "space %s: extent at page %d where %d was expected".formatted(name, extent.firstPage(), next));
            }
            next += extent.count();
        }
        if (next != pages) {
            throw new IllegalArgumentException("space %s: extents cover %d of %d pages".formatted(name, next, pages));
        }
    }

    private SpaceMap(SpaceMap whole, long start, long count) {
        int first = whole.extent(start);
        int end = whole.extent(start + count - 1) + 1;
        name = whole.name;
        id = whole.id;
        pages = count;
        pageSize = whole.pageSize;
        lost = Arrays.copyOfRange(whole.lost, first, end);
        node = Arrays.copyOfRange(whole.node, first, end);
        incarnation = Arrays.copyOfRange(whole.incarnation, first, end);
        firstPage = Arrays.copyOfRange(whole.firstPage, first, end);
        offset = Arrays.copyOfRange(whole.offset, first, end);
        for (int i = 0; i < firstPage.length; i++) {
            long skipped = Math.max(0, start - firstPage[i]);
            offset[i] += skipped * pageSize;
            firstPage[i] += skipped - start;
        }
    }

    /**
     * A run of the pages as a map of its own, in which {@code start} is page 0.
     *
     * @throws IndexOutOfBoundsException if the space has no such pages
     */
    public SpaceMap slice(long start, long count) {
        return new SpaceMap(this, start, count);
    }

    private SpaceMap(SpaceMap whole) {
        name = whole.name;
        id = whole.id;
        pages = whole.pages;
        pageSize = whole.pageSize;
        lost = new boolean[whole.lost.length];
        Arrays.fill(lost, true);
        node = whole.node;
        incarnation = whole.incarnation;
        firstPage = whole.firstPage;
        offset = whole.offset;
    }

    /** The same pages, all of them lost. */
    public SpaceMap lost() {
        return new SpaceMap(this);
    }

    public String name() {
        return name;
    }

    /** The coordinator's id of the space, never used again for another. */
    public long id() {
        return id;
    }

    /** Whether the pages of an extent are gone with their home. */
    public boolean isLost(int extent) {
        return lost[extent];
    }

    /** Number of pages. */
    public long pages() {
        return pages;
    }

    /** Bytes of a page. */
    public int pageSize() {
        return pageSize;
    }

    /**
     * The extent that holds {@code page}.
     *
     * @throws IndexOutOfBoundsException naming the page and the range
     */
    public int extent(long page) {
        if (page < 0 || page >= pages) {
            throw new IndexOutOfBoundsException(
                    "page " + page + " is not within 0.." + (pages - 1) + " of space " + name);
        }
        int low = 0;
        int high = firstPage.length - 1;
        while (low < high) {
            int middle = (low + high + 1) >>> 1;
            if (firstPage[middle] <= page) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        return low;
    }

    /** Number of extents. */
    public int extents() {
        return firstPage.length;
    }

    /** First page of an extent. */
    public long firstPage(int extent) {
        return firstPage[extent];
    }

    /** Home of an extent. */
    public String node(int extent) {
        return node[extent];
    }

    /** Incarnation of the home in which the extent lives. */
    public long incarnation(int extent) {
        return incarnation[extent];
    }

    /** Where {@code page} of {@code extent} starts within the home's exported frames, bytes. */
    public long offset(int extent, long page) {
        return offset[extent] + (page - firstPage[extent]) * pageSize;
    }
}
