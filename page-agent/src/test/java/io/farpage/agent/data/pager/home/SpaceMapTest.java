package io.farpage.agent.data.pager.home;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.farpage.agent.data.pager.home.SpaceMap.Extent;
import java.util.List;
import java.util.Optional;
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
