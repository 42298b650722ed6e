package io.farpage.bench.report;

import java.util.List;
import java.util.function.ToDoubleFunction;
import java.util.stream.IntStream;

/**
 * The ratio of farpage to its baseline over alternating rounds: each round is compared with the baseline's of the same
 * turn, which saw the same state of the machine, and the median of those is what counts.
 */
public record Spread(double median, double min, double max) {
    static Spread of(List<FetchRound> rounds, List<FetchRound> baseline, ToDoubleFunction<FetchRound> figure) {
        return of(rounds, figure, baseline, figure);
    }

    static <B> Spread of(
            List<FetchRound> rounds,
            ToDoubleFunction<FetchRound> figure,
            List<B> baseline,
            ToDoubleFunction<B> baselineFigure) {
        double[] ratios = IntStream.range(0, rounds.size())
                .mapToDouble(i -> figure.applyAsDouble(rounds.get(i)) / baselineFigure.applyAsDouble(baseline.get(i)))
                .sorted()
                .toArray();
        int half = ratios.length / 2;
        double median = ratios.length % 2 == 1 ? ratios[half] : (ratios[half - 1] + ratios[half]) / 2;
        return new Spread(rounded(median), rounded(ratios[0]), rounded(ratios[ratios.length - 1]));
    }

    private static double rounded(double ratio) {
        return Math.round(ratio * 10_000) / 10_000.0;
    }
}
