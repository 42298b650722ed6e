package io.farpage.bench.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class RatioTest {
    private static final long SEED = 20_260;

    @Test
    void shouldPairEachRoundWithTheBaselineRoundOfTheSameNumber() {
        Ratio ratio =
                Ratio.of(rounds(100, 400, 1000), round -> round.at(50), rounds(100, 200, 2000), round -> round.at(50));
        assertEquals(new Ratio(1, null, null), ratio);
    }

    @Test
    void shouldAverageTheTwoMiddleRatiosWhenRoundsAreEven() {
        assertEquals(new Ratio(2.5, null, null), Ratio.of(4, 1, 3, 2));
    }

    /** Ranks of the lower end as in the table of Le Boudec (appendix A) for the median and a confidence of 95 %. */
    @ParameterizedTest
    @CsvSource({"5, 0", "6, 1", "8, 1", "9, 2", "11, 2", "12, 3", "20, 6", "30, 10", "50, 18", "70, 27", "1000, 469"})
    void shouldTakeTheRanksOfTheTableOfOrderStatistics(int rounds, int rank) {
        assertEquals(rank, Ratio.rank(rounds));
    }

    @Test
    void shouldLeaveTheOutermostRatiosOutsideTheIntervalOfNineRounds() {
        assertEquals(new Ratio(5, 2.0, 8.0), Ratio.of(9, 8, 7, 6, 5, 4, 3, 2, 1));
    }

    /** Whatever the distribution is (this one has a long tail), the interval has its median in 95 % of the runs. */
    @Test
    void shouldEncloseTheTrueMedianInNinetyFivePercentOfRuns() {
        System.out.println("seed " + SEED);
        Random random = new Random(SEED);
        int runs = 20_000;
        int enclosed = 0;
        for (int run = 0; run < runs; run++) {
            double[] ratios = random.doubles(11).map(x -> 1 / (1 - x)).toArray();
            Ratio ratio = Ratio.of(ratios);
            enclosed += end(ratio.low()) <= 2 && end(ratio.high()) >= 2 ? 1 : 0;
        }
        // 11 rounds: 1 - 2 (1 + 11) / 2^11 = 98.8 %.
        double share = (double) enclosed / runs;
        assertTrue(share > 0.984 && share < 0.992, "enclosed in " + share);
    }

    private static double end(@Nullable Double ofInterval) {
        return Objects.requireNonNull(ofInterval, "eleven rounds have an interval");
    }

    private static List<FetchRound> rounds(long... medians) {
        return Arrays.stream(medians)
                .mapToObj(ns -> {
                    Histogram latencies = FetchRound.newHistogram();
                    latencies.recordValueWithCount(ns, 3);
                    return new FetchRound(latencies, 0, Duration.ofMillis(1));
                })
                .toList();
    }
}
