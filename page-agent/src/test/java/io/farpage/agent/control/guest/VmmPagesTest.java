package io.farpage.agent.control.guest;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.pager.home.SpaceMap;
import io.farpage.agent.data.pager.page.PresenceMap;
import io.farpage.coordinator.model.HeatReport;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What a guest whose pages have another size than those of its space is served with, and what it leaves. */
final class VmmPagesTest {
    private static final int SMALL = 4096;
    private static final int LARGE = 2 << 20;
    private static final int PARTS = 512;

    private static SpaceMap.Extent extent(long first, long count) {
        return new SpaceMap.Extent(
                first, count, "home", 1, 0, false, List.of(), 0, Optional.empty(), SpaceMap.Pull.NONE);
    }

    private static SpaceMap map(int pageSize, SpaceMap.Extent... extents) {
        long pages = List.of(extents).stream().mapToLong(SpaceMap.Extent::count).sum();
        return new SpaceMap("vm", 1, pages, pageSize, List.of(extents), 0);
    }

    @ParameterizedTest
    @CsvSource({"4096, 2097152", "2097152, 4096"})
    void shouldServePrivateMemoryInPagesOfAnotherSize(int bytes, int ofSpace) {
        SpaceMap space = map(ofSpace, extent(0, 1024), extent(1024, 512));
        assertDoesNotThrow(() -> VmmPages.require(bytes, space, false, false));
        assertDoesNotThrow(() -> VmmPages.require(ofSpace, space, true, true));
    }

    @ParameterizedTest
    @CsvSource({
        "4096, 2097152, true, false, 'whole pages of the space are evicted; load the image into a space with the VMM''s"
                + " page size, or send the userfaultfds without a memory file'",
        "2097152, 4096, true, false, whole pages of the space are evicted",
        "4096, 2097152, false, true, create an encrypted space with the VMM's page size",
        "2097152, 4096, false, true, create an encrypted space with the VMM's page size",
    })
    void shouldRefuseWhatNeedsPagesOfOneSize(
            int bytes, int ofSpace, boolean isEvictable, boolean isSealed, String said) {
        SpaceMap space = map(ofSpace, extent(0, 1024));
        HandoffException refused =
                assertThrows(HandoffException.class, () -> VmmPages.require(bytes, space, isEvictable, isSealed));
        String message = String.valueOf(refused.getMessage());
        assertTrue(message.startsWith(
                "the VMM's memory has pages of %d bytes, the space of %d".formatted(bytes, ofSpace)));
        assertTrue(message.contains(said), message);
    }

    @Test
    void shouldRefusePagesThatAreInTwoExtents() {
        SpaceMap cut = map(SMALL, extent(0, 700), extent(700, 1000));
        HandoffException refused =
                assertThrows(HandoffException.class, () -> VmmPages.require(LARGE, cut, false, false));
        assertTrue(String.valueOf(refused.getMessage()).contains("such as at page 700 of the space"));
        assertDoesNotThrow(() -> VmmPages.require(
                LARGE, map(SMALL, extent(0, 1024), extent(1024, 100), extent(1124, 400)), false, false));
    }

    private static PresenceMap random(int pages, long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        PresenceMap map = PresenceMap.zeros(pages);
        for (int page = 0; page < pages; ) {
            int entry = List.of(PresenceMap.ZERO, PresenceMap.PRESENT, PresenceMap.WANTED)
                    .get(random.nextInt(3));
            for (int run = random.nextInt(2000); run >= 0 && page < pages; run--) {
                map.set(page++, entry);
            }
        }
        return map;
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4})
    void shouldFetchALargePageIfTheHomesHaveAPartOfIt(long seed) {
        PresenceMap past = random(10 * PARTS + 7, seed);
        VmmPages sizes = new VmmPages(LARGE, SMALL, past);
        assertEquals(10, sizes.presence().pages());
        for (int page = 0; page < 10; page++) {
            int first = page * PARTS;
            int all = IntStream.range(first, first + PARTS).map(past::get).reduce(0, (a, b) -> a | b);
            assertEquals(all, sizes.presence().get(page));
        }
    }

    /** Nothing was written home; pages that were resident are prefetched for the next guest. */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4})
    void shouldLeaveZerosWithinLargePagesAsTheyAre(long seed) {
        PresenceMap past = random(10 * PARTS + 7, seed);
        VmmPages sizes = new VmmPages(LARGE, SMALL, past);
        PresenceMap ended = sizes.presence().withoutWishes();
        IntStream.of(2, 5).filter(page -> ended.get(page) != 0).forEach(page -> ended.set(page, PresenceMap.WANTED));
        PresenceMap left = sizes.ofSpace(ended);
        assertEquals(past.pages(), left.pages());
        for (int page = 0; page < past.pages(); page++) {
            int of = page / PARTS;
            int expected = past.get(page) == PresenceMap.ZERO || of == 10 ? past.get(page) : ended.get(of);
            assertEquals(expected, left.get(page), "page " + page);
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4})
    void shouldCutLargePagesIntoSmallOnesAndBack(long seed) {
        PresenceMap past = random(10, seed);
        VmmPages sizes = new VmmPages(SMALL, LARGE, past);
        assertEquals(10 * PARTS, sizes.presence().pages());
        for (int page = 0; page < 10 * PARTS; page++) {
            assertEquals(past.get(page / PARTS), sizes.presence().get(page));
        }
        PresenceMap ended = sizes.presence().withoutWishes();
        past = past.withoutWishes();
        for (int page : new int[] {0, 3 * PARTS + 4, 10 * PARTS - 1}) {
            if (ended.get(page) != PresenceMap.ZERO) {
                ended.set(page, PresenceMap.WANTED);
                past.set(page / PARTS, PresenceMap.WANTED);
            }
        }
        PresenceMap left = sizes.ofSpace(ended);
        for (int page = 0; page < 10; page++) {
            assertEquals(past.get(page), left.get(page));
        }
    }

    @ParameterizedTest
    @CsvSource({
        "4096, 2097152, 512, 1024, 1, 2",
        "4096, 2097152, 500, 30, 0, 2",
        "2097152, 4096, 3, 2, 1536, 1024",
        "4096, 4096, 3, 2, 3, 2"
    })
    void shouldReportHeatInPagesOfTheSpace(int bytes, int ofSpace, long first, long count, long start, long length) {
        VmmPages sizes = new VmmPages(bytes, ofSpace, PresenceMap.zeros(2));
        assertEquals(new HeatReport.Range(start, length, 9), sizes.ofSpace(new HeatReport.Range(first, count, 9)));
    }
}
