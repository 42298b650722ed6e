package io.farpage.bench.pattern;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

final class PagePatternTest {
    private static final long SEED = 42;
    private static final int DRAWS = 1_000_000;

    @ParameterizedTest
    @EnumSource(PagePattern.class)
    void shouldStayWithinItsPages(PagePattern pattern) {
        for (long pages : new long[] {1, 2, 3, 6, 1000, 4096, 65537, PagePattern.MAX_PAGES}) {
            PageNumbers numbers = pattern.over(pages, SEED, 0.99);
            for (int i = 0; i < 20_000; i++) {
                long page = numbers.next();
                assertTrue(page >= 0 && page < pages, () -> pattern + " drew " + page + " of " + pages);
            }
        }
    }

    @ParameterizedTest
    @EnumSource(PagePattern.class)
    void shouldRepeatItselfForTheSameSeed(PagePattern pattern) {
        PageNumbers one = pattern.over(1000, SEED, 0.99);
        PageNumbers other = pattern.over(1000, SEED, 0.99);
        for (int i = 0; i < 10_000; i++) {
            assertEquals(one.next(), other.next());
        }
    }

    @Test
    void shouldGiveOtherPagesWhenTheSeedDiffers() {
        PageNumbers one = PagePattern.RANDOM.over(1L << 30, SEED, 0);
        PageNumbers other = PagePattern.RANDOM.over(1L << 30, SEED + 1, 0);
        int same = 0;
        for (int i = 0; i < 10_000; i++) {
            same += one.next() == other.next() ? 1 : 0;
        }
        assertTrue(same < 10, "same page in " + same + " of 10000 draws");
    }

    @Test
    void shouldStartAgainAtZeroAfterTheLastPageWhenSequential() {
        PageNumbers numbers = PagePattern.SEQUENTIAL.over(3, SEED, 0);
        for (long expected : new long[] {0, 1, 2, 0, 1, 2, 0}) {
            assertEquals(expected, numbers.next());
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {2, 7, 100, 1000})
    void shouldDrawRandomPagesUniformly(long pages) {
        double[] expected = new double[(int) pages];
        Arrays.fill(expected, (double) DRAWS / pages);
        assertFits(draw(PagePattern.RANDOM.over(pages, SEED, 0), (int) pages), expected);
    }

    @ParameterizedTest
    @CsvSource({"10, 0.5", "10, 1", "100, 0.99", "100, 1.2", "1000, 0.99", "1000, 2", "2, 3"})
    void shouldDrawZipfPagesByTheirRank(int pages, double exponent) {
        ZipfPages zipf = new ZipfPages(pages, SEED, exponent);
        double sum = 0;
        for (int rank = 1; rank <= pages; rank++) {
            sum += Math.pow(rank, -exponent);
        }
        double[] expected = new double[pages];
        for (int rank = 1; rank <= pages; rank++) {
            expected[(int) zipf.pageOfRank(rank - 1)] = DRAWS * Math.pow(rank, -exponent) / sum;
        }
        assertFits(draw(zipf, pages), expected);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 6, 12, 100, 1024, 6469693})
    void shouldGiveEveryRankAPageOfItsOwn(int pages) {
        ZipfPages zipf = new ZipfPages(pages, SEED, 1);
        int ranks = Math.min(pages, 100_000);
        Set<Long> seen = new HashSet<>();
        for (int rank = 0; rank < ranks; rank++) {
            seen.add(zipf.pageOfRank(rank));
        }
        assertEquals(ranks, seen.size());
    }

    @Test
    void shouldRefuseWhatItCannotCover() {
        assertThrows(IllegalArgumentException.class, () -> PagePattern.RANDOM.over(0, SEED, 0));
        assertThrows(IllegalArgumentException.class, () -> PagePattern.RANDOM.over(PagePattern.MAX_PAGES + 1, SEED, 0));
        assertThrows(IllegalArgumentException.class, () -> PagePattern.ZIPF.over(10, SEED, 0));
        assertThrows(IllegalArgumentException.class, () -> PagePattern.ZIPF.over(10, SEED, Double.NaN));
    }

    private static long[] draw(PageNumbers numbers, int pages) {
        long[] counts = new long[pages];
        for (int i = 0; i < DRAWS; i++) {
            counts[(int) numbers.next()]++;
        }
        return counts;
    }

    /**
     * Chi-square: with k - 1 degrees of freedom its mean is k - 1 and its deviation √(2(k - 1)); five of those is
     * amiss.
     */
    private static void assertFits(long[] counts, double[] expected) {
        double chiSquare = 0;
        double rare = 0;
        long rareSeen = 0;
        int cells = 0;
        for (int i = 0; i < counts.length; i++) {
            if (expected[i] < 10) { // too few to be near normal: counted together
                rare += expected[i];
                rareSeen += counts[i];
                continue;
            }
            chiSquare += (counts[i] - expected[i]) * (counts[i] - expected[i]) / expected[i];
            cells++;
        }
        if (rare >= 10) {
            chiSquare += (rareSeen - rare) * (rareSeen - rare) / rare;
            cells++;
        }
        double freedom = cells - 1;
        double limit = freedom + 5 * Math.sqrt(2 * freedom) + 5;
        double found = chiSquare;
        assertTrue(found < limit, () -> "chi-square " + found + " with " + freedom + " degrees of freedom");
    }
}
