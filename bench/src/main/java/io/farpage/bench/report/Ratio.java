package io.farpage.bench.report;

import java.util.Arrays;
import java.util.List;
import java.util.function.ToDoubleFunction;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The ratio of farpage to its baseline: each round is compared with the baseline's of the same number, which saw the
 * same state of the machine, and the median of those is what counts.
 *
 * <p>The interval is one of order statistics, for which nothing is assumed of the distribution: the k-th smallest and
 * the k-th largest ratio, with the largest k for which the median lies outside with a probability of at most 5 %. As
 * each round lies above the median with probability ½, that probability is 2 P(B &lt; k) for a binomial B of n rounds
 * (H. A. David and H. N. Nagaraja, Order Statistics, 3rd edition, section 7.1; J.-Y. Le Boudec, Performance Evaluation
 * of Computer and Communication Systems, theorem 2.1). Fewer than {@value #FEWEST} rounds have none.
 *
 * @param median of the rounds' ratios
 * @param low lower end of the 95 % interval of the median; null without one
 * @param high upper end
 */
public record Ratio(
        double median, @Nullable Double low, @Nullable Double high) {
    /** How many rounds an interval takes. */
    public static final int FEWEST = 6;

    private static final double OUTSIDE = 0.05;

    static <A, B> Ratio of(
            List<A> rounds, ToDoubleFunction<A> figure, List<B> baseline, ToDoubleFunction<B> baselineFigure) {
        return of(IntStream.range(0, rounds.size())
                .mapToDouble(i -> figure.applyAsDouble(rounds.get(i)) / baselineFigure.applyAsDouble(baseline.get(i)))
                .toArray());
    }

    static Ratio of(double... ofRounds) {
        double[] sorted = ofRounds.clone();
        Arrays.sort(sorted);
        int count = sorted.length;
        double median = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
        int rank = rank(count);
        return rank == 0
                ? new Ratio(rounded(median), null, null)
                : new Ratio(rounded(median), rounded(sorted[rank - 1]), rounded(sorted[count - rank]));
    }

    /** The largest k, from 1, whose order statistics enclose the median often enough; 0 if there is none. */
    static int rank(int rounds) {
        double exactly = Math.pow(0.5, rounds);
        double outside = 0;
        int rank = 0;
        while (rank < rounds) {
            outside += 2 * exactly;
            if (outside > OUTSIDE) {
                break;
            }
            exactly *= (double) (rounds - rank) / (rank + 1);
            rank++;
        }
        return rank;
    }

    private static double rounded(double ratio) {
        return Math.round(ratio * 10_000) / 10_000.0;
    }
}
