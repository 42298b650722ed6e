package io.farpage.agent.data.pager.home;

import io.farpage.agent.data.pager.page.PresenceMap;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Where the pages of one space live. Immutable; looking up a page allocates nothing. */
public final class SpaceMap {
    private final String name;
    private final long id;
    private final boolean[] lost;
    private final long pages;
    /** With the pages behind those of the guest. */
    private final long storedPages;

    private final int pageSize;
    private final long[] firstPage;
    private final String[] node;
    private final long[] incarnation;
    private final long[] offset;
    /** By extent: the homes beside the first. */
    private final Copy[][] others;
    /** By extent: the home that joins, or null. */
    private final @Nullable Copy[] joining;
    /** By extent: how far the home that joins has come with copying the pages itself. */
    private final Pull[] pull;
    /** By extent: its first page in the whole space, and how often its homes had changed. */
    private final long[] origin;

    private final long[] epoch;

    private final long revision;
    private final boolean isMirrored;
    /** By extent: whether its homes are those of a snapshot, since it has none itself. */
    private final boolean[] isAtBase;

    private static final Copy[] NO_COPIES = {};

    /** How far a home that joins has come with pulling the pages from the other homes. */
    public enum Pull {
        /** No home joins. */
        NONE,
        /** It begins when the pager notes the pages that it writes. */
        AWAITED,
        /** It copies pages. */
        RUNNING,
        /** It has copied all pages, each as it was at some time since it began. */
        DONE
    }

    /**
     * Another home of an extent, with the same pages.
     *
     * @param node which has them
     * @param incarnation of that node
     * @param offset where the first one starts within its exported frames, bytes
     */
    public record Copy(String node, long incarnation, long offset) {
        private Copy moved(long bytes) {
            return new Copy(node, incarnation, offset + bytes);
        }
    }

    /**
     * A run of pages that live one after the other.
     *
     * @param node their home; empty if they have none, because no page was written yet
     * @param incarnation the incarnation of the home in which they live
     * @param offset where the first one starts within the home's exported frames, bytes
     * @param isLost whether they are gone with their homes
     * @param others further homes
     * @param epoch how often the homes have changed
     * @param joining a home that the pages are copied to
     * @param pull whether that home copies pages itself
     */
    public record Extent(
            long firstPage,
            long count,
            String node,
            long incarnation,
            long offset,
            boolean isLost,
            List<Copy> others,
            long epoch,
            Optional<Copy> joining,
            Pull pull) {
        /** Copies the list. */
        public Extent {
            others = List.copyOf(others);
        }

        /** Pages that have no home yet: all of them are zeros, apart from those in the guest's memory. */
        public static Extent unallocated(long firstPage, long count, long epoch) {
            return new Extent(firstPage, count, "", 0, 0, false, List.of(), epoch, Optional.empty(), Pull.NONE);
        }
    }

    /** Makes the map of a space that has the pages of its guest alone. */
    public SpaceMap(String name, long id, long pages, int pageSize, List<Extent> extents, long revision) {
        this(name, id, pages, pages, pageSize, extents, revision);
    }

    /**
     * @param id the coordinator's id of the space
     * @param pages of the guest
     * @param storedPages that the extents have: those of the guest, and behind them what agents keep of the space
     * @param pageSize bytes of a page
     * @param extents in the order of their pages
     * @param revision higher for a later map of the same space
     * @throws IllegalArgumentException if the extents leave a gap or overlap
     */
    public SpaceMap(
            String name, long id, long pages, long storedPages, int pageSize, List<Extent> extents, long revision) {
        requireAll(name, storedPages, extents);
        this.name = name;
        this.id = id;
        this.pages = pages;
        this.storedPages = storedPages;
        this.pageSize = pageSize;
        lost = new boolean[extents.size()];
        for (int i = 0; i < lost.length; i++) {
            lost[i] = extents.get(i).isLost();
        }
        firstPage = extents.stream().mapToLong(Extent::firstPage).toArray();
        node = extents.stream().map(Extent::node).toArray(String[]::new);
        incarnation = extents.stream().mapToLong(Extent::incarnation).toArray();
        offset = extents.stream().mapToLong(Extent::offset).toArray();
        others = extents.stream()
                .map(extent ->
                        extent.others().isEmpty() ? NO_COPIES : extent.others().toArray(Copy[]::new))
                .toArray(Copy[][]::new);
        this.revision = revision;
        joining = new Copy[extents.size()];
        for (int i = 0; i < joining.length; i++) {
            joining[i] = extents.get(i).joining().orElse(null);
        }
        pull = extents.stream().map(Extent::pull).toArray(Pull[]::new);
        origin = firstPage;
        epoch = extents.stream().mapToLong(Extent::epoch).toArray();
        isMirrored = extents.stream()
                .anyMatch(
                        extent -> !extent.others().isEmpty() || extent.joining().isPresent());
        isAtBase = new boolean[extents.size()];
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
        storedPages = count;
        pageSize = whole.pageSize;
        lost = Arrays.copyOfRange(whole.lost, first, end);
        node = Arrays.copyOfRange(whole.node, first, end);
        incarnation = Arrays.copyOfRange(whole.incarnation, first, end);
        firstPage = Arrays.copyOfRange(whole.firstPage, first, end);
        offset = Arrays.copyOfRange(whole.offset, first, end);
        others = new Copy[end - first][];
        joining = Arrays.copyOfRange(whole.joining, first, end);
        pull = Arrays.copyOfRange(whole.pull, first, end);
        origin = Arrays.copyOfRange(whole.origin, first, end);
        epoch = Arrays.copyOfRange(whole.epoch, first, end);
        revision = whole.revision;
        isMirrored = whole.isMirrored;
        isAtBase = Arrays.copyOfRange(whole.isAtBase, first, end);
        for (int i = 0; i < firstPage.length; i++) {
            long skipped = Math.max(0, start - firstPage[i]);
            offset[i] += skipped * pageSize;
            firstPage[i] += skipped - start;
            others[i] = moved(whole.others[first + i], skipped * pageSize);
            Copy joins = joining[i];
            joining[i] = joins == null ? null : joins.moved(skipped * pageSize);
        }
    }

    private static Copy[] moved(Copy[] copies, long bytes) {
        Copy[] moved = new Copy[copies.length];
        Arrays.setAll(moved, i -> copies[i].moved(bytes));
        return moved;
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
        storedPages = whole.storedPages;
        pageSize = whole.pageSize;
        lost = new boolean[whole.lost.length];
        Arrays.fill(lost, true);
        node = whole.node;
        incarnation = whole.incarnation;
        firstPage = whole.firstPage;
        offset = whole.offset;
        others = whole.others;
        joining = new Copy[whole.joining.length];
        pull = whole.pull;
        origin = whole.origin;
        epoch = whole.epoch;
        revision = whole.revision;
        isMirrored = whole.isMirrored;
        isAtBase = whole.isAtBase;
    }

    private SpaceMap(SpaceMap other, int bytes) {
        long size = other.pages * other.pageSize / bytes;
        int count = size == 0 ? 0 : other.extent(size * bytes / other.pageSize - 1) + 1;
        name = other.name;
        id = other.id;
        pages = size;
        storedPages = size;
        pageSize = bytes;
        lost = Arrays.copyOf(other.lost, count);
        node = Arrays.copyOf(other.node, count);
        incarnation = Arrays.copyOf(other.incarnation, count);
        firstPage = new long[count];
        Arrays.setAll(firstPage, i -> other.firstPage[i] * other.pageSize / bytes);
        offset = Arrays.copyOf(other.offset, count);
        others = Arrays.copyOf(other.others, count);
        joining = Arrays.copyOf(other.joining, count);
        pull = Arrays.copyOf(other.pull, count);
        origin = Arrays.copyOf(other.origin, count);
        epoch = Arrays.copyOf(other.epoch, count);
        revision = other.revision;
        isMirrored = other.isMirrored;
        isAtBase = Arrays.copyOf(other.isAtBase, count);
    }

    /**
     * The pages of the guest as pages of another size, as many as they fill. Extents keep their names: their
     * {@link #origin origins} are still pages of the space.
     *
     * @param bytes of a page, a multiple or a fraction of the page size
     * @throws IllegalArgumentException if such a page would be in {@link #firstCut two extents}
     */
    public SpaceMap inPages(int bytes) {
        if (firstCut(bytes).isPresent()) {
            throw new IllegalArgumentException("space %s: a page of %d bytes is in two extents, at page %d of the space"
                    .formatted(name, bytes, firstCut(bytes).getAsLong()));
        }
        return new SpaceMap(this, bytes);
    }

    /** The first page at which an extent begins within a page of another size, if there is one. */
    public OptionalLong firstCut(int bytes) {
        long end = pages * pageSize / bytes * bytes;
        return Arrays.stream(firstPage)
                .filter(first -> first * pageSize < end && first * pageSize % bytes != 0)
                .findFirst();
    }

    private SpaceMap(SpaceMap clone, SpaceMap snapshot) {
        SpaceMap layout = clone.extents() == 0 ? snapshot.ofGuest() : clone;
        int count = layout.extents();
        name = clone.name;
        id = clone.id;
        pages = clone.pages;
        storedPages = layout.storedPages;
        pageSize = clone.pageSize;
        revision = clone.revision;
        firstPage = layout.firstPage;
        origin = layout.origin;
        epoch = clone.extents() == 0 ? new long[count] : clone.epoch;
        joining = clone.extents() == 0 ? new Copy[count] : clone.joining;
        pull = layout.pull;
        lost = layout.lost.clone();
        node = layout.node.clone();
        incarnation = layout.incarnation.clone();
        offset = layout.offset.clone();
        others = layout.others.clone();
        isAtBase = new boolean[count];
        for (int i = 0; i < count && firstPage[i] < pages; i++) {
            int of = snapshot.extent(firstPage[i]);
            if ((i < clone.extents() && clone.isAllocated(i)) || !snapshot.isReadable(of)) {
                continue;
            }
            requireWithin(layout, i, snapshot, of);
            long skipped = (firstPage[i] - snapshot.firstPage[of]) * pageSize;
            lost[i] |= snapshot.lost[of];
            node[i] = snapshot.node[of];
            incarnation[i] = snapshot.incarnation[of];
            offset[i] = snapshot.offset[of] + skipped;
            others[i] = moved(snapshot.others[of], skipped);
            isAtBase[i] = true;
        }
        isMirrored = clone.isMirrored || Arrays.stream(others).anyMatch(copies -> copies.length > 0);
    }

    private static void requireWithin(SpaceMap clone, int extent, SpaceMap snapshot, int of) {
        if (clone.pages != snapshot.pages
                || clone.pageSize != snapshot.pageSize
                || Math.min(clone.pages, clone.endPage(extent)) > snapshot.endPage(of)) {
            throw new IllegalArgumentException("extent at page %d of clone %s is not within one of snapshot %s"
                    .formatted(clone.firstPage[extent], clone.name, snapshot.name));
        }
    }

    /**
     * The map of a clone: the pages of extents without homes are read from the homes of its snapshot.
     *
     * @throws IllegalArgumentException if such an extent has pages of several extents of the snapshot
     */
    public SpaceMap over(SpaceMap snapshot) {
        return new SpaceMap(this, snapshot);
    }

    /** The same pages, all of them lost. No home joins: nothing is copied any further. */
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

    /** Number of pages of the guest. */
    public long pages() {
        return pages;
    }

    /** Number of pages with those behind the guest's. */
    public long storedPages() {
        return storedPages;
    }

    /** The pages of the guest alone. */
    public SpaceMap ofGuest() {
        return pages == storedPages ? this : slice(0, pages);
    }

    /** Bytes of a page. */
    public int pageSize() {
        return pageSize;
    }

    /**
     * The extent that holds {@code page}, of the guest or behind it.
     *
     * @throws IndexOutOfBoundsException naming the page and the range
     */
    public int extent(long page) {
        requirePage(page, storedPages);
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

    /**
     * Checks that the guest has a page.
     *
     * @throws IndexOutOfBoundsException naming the page and the range
     */
    public void requirePage(long page) {
        requirePage(page, pages);
    }

    private void requirePage(long page, long end) {
        if (page < 0 || page >= end) {
            throw new IndexOutOfBoundsException(
                    "page " + page + " is not within 0.." + (end - 1) + " of space " + name);
        }
    }

    /** Number of extents. */
    public int extents() {
        return firstPage.length;
    }

    /** Higher for a later map of the same space. */
    public long revision() {
        return revision;
    }

    /** Whether some extents have several homes, or one that joins. */
    public boolean isMirrored() {
        return isMirrored;
    }

    /** The home that joins an extent; null if there is none. */
    public @Nullable Copy joining(int extent) {
        return joining[extent];
    }

    /** How far the home that joins an extent has come with copying the pages itself. */
    public Pull pull(int extent) {
        return pull[extent];
    }

    /**
     * First page of an extent in the whole space, even if this map is a slice that begins behind it, or has pages of
     * another size.
     */
    public long origin(int extent) {
        return origin[extent];
    }

    /** How often the homes of an extent have changed. */
    public long epoch(int extent) {
        return epoch[extent];
    }

    /** The page behind the last one of an extent. */
    public long endPage(int extent) {
        return extent + 1 < extents() ? firstPage[extent + 1] : storedPages;
    }

    /**
     * Whether an extent has homes of its own, to which its pages are written. If not, the pages that are not in the
     * guest's memory are those of a snapshot, or zeros.
     */
    public boolean isAllocated(int extent) {
        return isReadable(extent) && !isAtBase[extent];
    }

    /** Whether the pages of an extent are read from the homes of a snapshot, since it has none itself. */
    public boolean isAtBase(int extent) {
        return isAtBase[extent];
    }

    /** Whether the pages of an extent are read from homes, its own or those of a snapshot. If not, they are zeros. */
    public boolean isReadable(int extent) {
        return !node[extent].isEmpty();
    }

    /** Whether some pages of the guest have homes of their own. */
    public boolean isAnyAllocated() {
        return IntStream.range(0, extents()).anyMatch(extent -> firstPage[extent] < pages && isAllocated(extent));
    }

    /** Whether some extents have no homes of their own. */
    public boolean isAnyUnallocated() {
        return IntStream.range(0, extents()).anyMatch(extent -> !isAllocated(extent));
    }

    /** Says in a map of this space that the pages without homes are zeros. */
    public void describe(PresenceMap presence) {
        for (int extent = 0; extent < extents(); extent++) {
            long end = Math.min(pages, endPage(extent));
            if (firstPage[extent] < end && !isReadable(extent)) {
                presence.fill((int) firstPage[extent], (int) end, PresenceMap.ZERO);
            }
        }
    }

    /** Marks in a presence map of this space each page as present whose extent has homes of its own. */
    public void describeAllocated(PresenceMap presence) {
        for (int extent = 0; extent < extents(); extent++) {
            long end = Math.min(pages, endPage(extent));
            for (long page = firstPage[extent]; page < end && isAllocated(extent); page++) {
                if (presence.get((int) page) == PresenceMap.ZERO) {
                    presence.set((int) page, PresenceMap.PRESENT);
                }
            }
        }
    }

    /** How many homes the pages of an extent are read from. */
    public int copies(int extent) {
        return isReadable(extent) ? 1 + others[extent].length : 0;
    }

    /**
     * With which of several homes a node begins when it reads pages of an extent. Nodes and extents begin with
     * different ones, so that the homes share the reads.
     */
    public int firstReader(int extent, String node) {
        return Math.floorMod(extent + node.hashCode(), copies(extent));
    }

    /** A home of an extent, counted from 0. */
    public String node(int extent, int copy) {
        return copy == 0 ? node[extent] : others[extent][copy - 1].node();
    }

    /** Incarnation of a home in which the extent lives. */
    public long incarnation(int extent, int copy) {
        return copy == 0 ? incarnation[extent] : others[extent][copy - 1].incarnation();
    }

    /** Where {@code page} of {@code extent} starts within the exported frames of a home, bytes. */
    public long offset(int extent, int copy, long page) {
        long start = copy == 0 ? offset[extent] : others[extent][copy - 1].offset();
        return start + (page - firstPage[extent]) * pageSize;
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
