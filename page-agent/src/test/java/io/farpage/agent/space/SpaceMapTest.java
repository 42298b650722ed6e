package io.farpage.agent.space;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceExtents;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SpaceMapTest {
    private static final int PAGE = 4096;

    @ParameterizedTest
    @CsvSource({"0, 60", "0, 10", "3, 7", "3, 8", "9, 2", "10, 20", "15, 45", "59, 1"})
    void shouldSayOfASlicesPagesWhatItSaysOfTheSpaces(int start, int count) {
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
    void shouldFindExtentOfItsFirstAndOfItsLastPage(int page, int extent) {
        assertEquals(extent, map().extent(page));
    }

    @Test
    void shouldRefuseExtentsThatOverlapThoughTheirCountsAddUp() {
        refuse(
                "extent at page 5 where 10 was expected",
                extent(0, 10, "a", 0, ExtentState.OK),
                extent(5, 20, "b", 0, ExtentState.OK),
                extent(30, 30, "a", 1 << 20, ExtentState.OK));
    }

    @Test
    void shouldRefuseExtentsThatLeaveAGapThoughTheirCountsAddUp() {
        refuse(
                "extent at page 20 where 10 was expected",
                extent(0, 10, "a", 0, ExtentState.OK),
                extent(20, 20, "b", 0, ExtentState.OK),
                extent(30, 30, "a", 1 << 20, ExtentState.OK));
    }

    @Test
    void shouldRefuseExtentsThatEndBeforeOrBehindTheSpace() {
        refuse("extents cover 59 of 60 pages", extent(0, 59, "a", 0, ExtentState.OK));
        refuse("extents cover 61 of 60 pages", extent(0, 61, "a", 0, ExtentState.OK));
    }

    private static void refuse(String reason, Extent... extents) {
        IllegalArgumentException refused = assertThrows(IllegalArgumentException.class, () -> map(extents));
        assertEquals("space demo: " + reason, refused.getMessage());
    }

    private static SpaceMap map() {
        return map(
                extent(0, 10, "a", 4096, ExtentState.OK),
                extent(10, 20, "b", 0, ExtentState.LOST),
                extent(30, 30, "a", 1 << 20, ExtentState.OK));
    }

    private static SpaceMap map(Extent... extents) {
        return SpaceMap.of(new SpaceExtents(
                new Space(1, "demo", 60 * PAGE, PAGE, ExtentState.OK, Instant.EPOCH, false), 1, List.of(extents)));
    }

    private static Extent extent(long first, long count, String node, long offset, ExtentState state) {
        return new Extent(first, count, List.of(new ExtentHome(node, new Incarnation(3 + first), offset)), state);
    }
}
