package io.farpage.agent.data.pager.home;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.pager.home.SpaceMap.Extent;
import io.farpage.agent.data.pager.page.PresenceMap;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SpaceMapTest {
    private static final int PAGE = 4096;

    @ParameterizedTest
    @CsvSource({"0, 60", "0, 10", "3, 7", "3, 8", "9, 2", "10, 20", "15, 45", "59, 1"})
    void shouldFindSameExtentsWhenMapIsSliced(int start, int count) {
        SpaceMap whole = map();
        SpaceMap slice = whole.slice(start, count);
        assertEquals(count, slice.pages());
        for (int page = 0; page < count; page++) {
            int of = whole.extent(start + page);
            int in = slice.extent(page);
            assertEquals(whole.node(of), slice.node(in));
            assertEquals(whole.incarnation(of), slice.incarnation(in));
            assertEquals(whole.isLost(of), slice.isLost(in));
            assertEquals(whole.offset(of, start + page), slice.offset(in, page));
            assertEquals(Math.max(0, whole.firstPage(of) - start), slice.firstPage(in));
        }
        assertThrows(IndexOutOfBoundsException.class, () -> slice.extent(count));
    }

    @ParameterizedTest
    @CsvSource({"0, 0", "9, 0", "10, 1", "29, 1", "30, 2", "59, 2"})
    void shouldFindExtentWhenPageIsItsFirstOrLast(int page, int extent) {
        assertEquals(extent, map().extent(page));
    }

    @Test
    void shouldRefuseExtentsWhenTheyOverlap() {
        refuse(
                "extent at page 5 where 10 was expected",
                extent(0, 10, "a", 0, false),
                extent(5, 20, "b", 0, false),
                extent(30, 30, "a", 1 << 20, false));
    }

    @Test
    void shouldRefuseExtentsWhenTheyLeaveGap() {
        refuse(
                "extent at page 20 where 10 was expected",
                extent(0, 10, "a", 0, false),
                extent(20, 20, "b", 0, false),
                extent(30, 30, "a", 1 << 20, false));
    }

    @Test
    void shouldRefuseExtentsWhenTheyEndBeforeOrBehindSpace() {
        refuse("extents cover 59 of 60 pages", extent(0, 59, "a", 0, false));
        refuse("extents cover 61 of 60 pages", extent(0, 61, "a", 0, false));
    }

    /** A clone of four extents, the first two at its snapshot, and a page behind it. */
    private static SpaceMap ofHugepages(int pageSize, long pages) {
        SpaceMap snapshot =
                new SpaceMap("snapshot", 2, 4 * pages, pageSize, List.of(extent(0, 4 * pages, "s", pages, false)), 1);
        return new SpaceMap(
                        "clone",
                        1,
                        4 * pages,
                        4 * pages + 1,
                        pageSize,
                        List.of(
                                Extent.unallocated(0, pages, 3),
                                Extent.unallocated(pages, pages, 4),
                                extent(2 * pages, pages, "a", 1 << 21, false),
                                extent(3 * pages, pages, "b", 0, true),
                                extent(4 * pages, 1, "b", 0, true)),
                        7)
                .over(snapshot);
    }

    @ParameterizedTest
    @CsvSource({"4096, 2097152, 1024", "2097152, 4096, 3"})
    void shouldFindSameBytesInPagesOfAnotherSize(int pageSize, int other, long pages) {
        SpaceMap map = ofHugepages(pageSize, pages);
        SpaceMap same = map.inPages(other);
        assertEquals(other, same.pageSize());
        assertEquals(4 * pages * pageSize / other, same.pages());
        assertEquals(same.pages(), same.storedPages());
        assertEquals(4, same.extents());
        assertEquals(map.revision(), same.revision());
        for (long page = 0; page < same.pages(); page++) {
            int in = same.extent(page);
            long ofMap = page * other / pageSize;
            int of = map.extent(ofMap);
            assertEquals(map.node(of), same.node(in));
            assertEquals(map.incarnation(of), same.incarnation(in));
            assertEquals(map.isLost(of), same.isLost(in));
            assertEquals(map.isAtBase(of), same.isAtBase(in));
            assertEquals(map.epoch(of), same.epoch(in));
            assertEquals(map.origin(of), same.origin(in), "the coordinator's name of the extent");
            assertEquals(map.offset(of, ofMap) + page * other % pageSize, same.offset(in, page));
        }
        SpaceMap slice = same.slice(same.pages() / 2, same.pages() / 4);
        assertEquals(2 * pages, slice.origin(0));
        assertEquals(map.offset(2, 2 * pages), slice.offset(0, 0));
    }

    @Test
    void shouldRefuseAPageOfAnotherSizeThatIsInTwoExtents() {
        SpaceMap map = new SpaceMap(
                "demo", 1, 1034, PAGE, List.of(extent(0, 700, "a", 0, false), extent(700, 334, "b", 0, false)), 0);
        assertEquals(OptionalLong.of(700), map.firstCut(2 << 20));
        assertTrue(String.valueOf(assertThrows(IllegalArgumentException.class, () -> map.inPages(2 << 20))
                        .getMessage())
                .contains("at page 700"));
    }

    @Test
    void shouldLeaveOutPagesThatFillNoneOfAnotherSize() {
        SpaceMap map = new SpaceMap(
                "demo", 1, 1034, PAGE, List.of(extent(0, 1030, "a", 0, false), extent(1030, 4, "b", 0, false)), 0);
        assertEquals(OptionalLong.empty(), map.firstCut(2 << 20));
        assertEquals(2, map.inPages(2 << 20).pages());
        assertEquals(1, map.inPages(2 << 20).extents());
    }

    /** A snapshot of three extents, the last without homes, and a clone with homes for pages 20 to 29. */
    private static SpaceMap cloneOf(Extent... extents) {
        return map(extents)
                .over(map(
                        extent(0, 10, "a", 4096, false),
                        extent(10, 20, "b", 8192, false),
                        Extent.unallocated(30, 30, 0)));
    }

    private static SpaceMap theClone() {
        return cloneOf(
                Extent.unallocated(0, 10, 4),
                Extent.unallocated(10, 10, 5),
                extent(20, 10, "c", 0, false),
                Extent.unallocated(30, 30, 6));
    }

    @ParameterizedTest
    @CsvSource({"0, 60", "0, 10", "3, 20", "12, 9", "15, 45"})
    void shouldReadPagesWithoutHomesFromTheSnapshot(int start, int count) {
        SpaceMap slice = theClone().slice(start, count);
        for (int at = 0; at < count; at++) {
            int page = start + at;
            int extent = slice.extent(at);
            boolean isOwn = page >= 20 && page < 30;
            assertEquals(isOwn, slice.isAllocated(extent), "page " + page);
            assertEquals(page < 20, slice.isAtBase(extent), "page " + page);
            assertEquals(page < 30, slice.isReadable(extent), "page " + page);
            assertEquals(page < 30 ? 1 : 0, slice.copies(extent), "page " + page);
            String home = page < 10 ? "a" : page < 20 ? "b" : page < 30 ? "c" : "";
            assertEquals(home, slice.node(extent), "page " + page);
            if (page < 30) {
                long offset =
                        page < 10 ? 4096 + page * PAGE : page < 20 ? 8192 + (page - 10) * PAGE : (page - 20) * PAGE;
                assertEquals(offset, slice.offset(extent, 0, at), "page " + page);
            }
            assertEquals(page < 10 ? 4 : page < 20 ? 5 : page < 30 ? 0 : 6, slice.epoch(extent), "page " + page);
        }
    }

    @Test
    void shouldDescribePresenceByHomesOfItsOwnAlone() {
        PresenceMap zeros = PresenceMap.zeros(60);
        zeros.set(25, PresenceMap.WANTED);
        theClone().describeAllocated(zeros);
        assertEquals(PresenceMap.ZERO, zeros.get(19));
        assertEquals(PresenceMap.PRESENT, zeros.get(20));
        assertEquals(PresenceMap.WANTED, zeros.get(25));
        assertEquals(PresenceMap.ZERO, zeros.get(30));
        PresenceMap unknown = PresenceMap.unknown(60);
        theClone().describe(unknown);
        assertEquals(PresenceMap.PRESENT, unknown.get(0));
        assertEquals(PresenceMap.ZERO, unknown.get(30));
        assertTrue(theClone().isAnyAllocated());
        assertFalse(cloneOf(Extent.unallocated(0, 10, 0), Extent.unallocated(10, 20, 0), Extent.unallocated(30, 30, 0))
                .isAnyAllocated());
    }

    @Test
    void shouldReadFromTheNextSnapshotThatHasHomes() {
        SpaceMap upper = map(
                        extent(0, 10, "d", 0, false),
                        Extent.unallocated(10, 10, 0),
                        Extent.unallocated(20, 10, 0),
                        Extent.unallocated(30, 30, 0))
                .over(theClone());
        assertEquals("d", upper.node(0));
        assertEquals("b", upper.node(upper.extent(10)), "of the lowest");
        assertEquals("c", upper.node(upper.extent(20)), "of the one between");
        assertTrue(upper.isReadable(upper.extent(10)));
        assertFalse(upper.isReadable(upper.extent(30)));
    }

    @Test
    void shouldHaveTheHomesOfTheSnapshotIfACloneHasNoExtents() {
        SpaceMap none = new SpaceMap("demo", 1, 60, 0, PAGE, List.of(), 7).over(map());
        assertEquals(3, none.extents());
        assertEquals(7, none.revision());
        assertTrue(none.isAtBase(0) && none.isLost(1) && !none.isAnyAllocated());
        assertTrue(none.lost().isLost(0));
    }

    @Test
    void shouldLoseThePagesThatTheSnapshotHasLost() {
        SpaceMap clone = map(Extent.unallocated(0, 10, 0), extent(10, 20, "c", 0, false), Extent.unallocated(30, 30, 0))
                .over(map(extent(0, 10, "a", 0, true), extent(10, 20, "b", 0, true), extent(30, 30, "a", 0, false)));
        assertTrue(clone.isLost(0));
        assertFalse(clone.isLost(1));
        assertFalse(clone.isLost(2));
    }

    @Test
    void shouldRefuseAnExtentThatIsInSeveralOfTheSnapshot() {
        IllegalArgumentException refused =
                assertThrows(IllegalArgumentException.class, () -> cloneOf(Extent.unallocated(0, 60, 0)));
        assertEquals(
                "extent at page 0 of clone demo is not within one of snapshot demo",
                String.valueOf(refused.getMessage()));
    }

    /** Each home is the first to read from for a third of the extents, and for a third of the nodes. */
    @Test
    void shouldHaveHomesShareReads() {
        List<SpaceMap.Copy> others = List.of(new SpaceMap.Copy("b", 4, 0), new SpaceMap.Copy("c", 5, 0));
        SpaceMap mirrored = map(IntStream.range(0, 60)
                .mapToObj(page -> new Extent(
                        page, 1, "a", 3, (long) page * PAGE, false, others, 0, Optional.empty(), SpaceMap.Pull.NONE))
                .toArray(Extent[]::new));
        int[] byExtent = new int[3];
        IntStream.range(0, 60).forEach(extent -> byExtent[mirrored.firstReader(extent, "node-1")]++);
        assertArrayEquals(new int[] {20, 20, 20}, byExtent);
        int[] byNode = new int[3];
        IntStream.range(0, 9).forEach(node -> byNode[mirrored.firstReader(0, "node-" + node)]++);
        assertArrayEquals(new int[] {3, 3, 3}, byNode);
        assertEquals(0, map().firstReader(2, "node-1"), "of one home");
    }

    private static void refuse(String reason, Extent... extents) {
        IllegalArgumentException refused = assertThrows(IllegalArgumentException.class, () -> map(extents));
        assertEquals("space demo: " + reason, refused.getMessage());
    }

    private static SpaceMap map() {
        return map(extent(0, 10, "a", 4096, false), extent(10, 20, "b", 0, true), extent(30, 30, "a", 1 << 20, false));
    }

    private static SpaceMap map(Extent... extents) {
        return new SpaceMap("demo", 1, 60, PAGE, List.of(extents), 0);
    }

    private static Extent extent(long first, long count, String node, long offset, boolean isLost) {
        return new Extent(
                first, count, node, 3 + first, offset, isLost, List.of(), 0, Optional.empty(), SpaceMap.Pull.NONE);
    }
}
