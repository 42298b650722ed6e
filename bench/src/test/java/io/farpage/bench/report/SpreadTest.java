package io.farpage.bench.report;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Test;

final class SpreadTest {
    @Test
    void shouldPairEachRoundWithTheBaselineRoundOfTheSameNumber() {
        Spread spread = Spread.of(rounds(100, 400, 1000), rounds(100, 200, 2000), round -> round.at(50));
        assertEquals(new Spread(1, 0.5, 2), spread);
    }

    @Test
    void shouldAverageTheTwoMiddleRatiosWhenRoundsAreEven() {
        Spread spread = Spread.of(rounds(100, 200, 300, 400), rounds(100, 100, 100, 100), round -> round.at(50));
        assertEquals(new Spread(2.5, 1, 4), spread);
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
