package io.farpage.bench.stall;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * Which rounds were disturbed by other programs. A side of a round was stalled if one of these holds, each compared
 * with the median of the same side's rounds in the same run:
 *
 * <ul>
 *   <li>its threads waited for a CPU half as long again, and 0.05 seconds longer in each second;
 *   <li>its threads lost their CPU involuntarily more than twice as often, and 50 times a second more often. Not judged
 *       where the median is above 200 a second: the sides preempt each other at every page, and do so less often if
 *       they are disturbed;
 *   <li>some thread of the machine waited for a CPU in a share of the time that is larger by 0.1. Not judged where the
 *       median is above 0.25: the sides wait for each other, and the share, which is an average over the CPUs, rises
 *       also when the other CPUs become idle.
 * </ul>
 *
 * <p>The median is what the sides do to themselves: where they share a CPU, they wait for each other in every round. It
 * follows that a machine that is as busy in most rounds stalls none of them by this rule; the interval of the ratio is
 * wide then. A round counts if no side was stalled.
 */
public final class StallRule {
    /** With fewer rounds a median says too little. */
    public static final int FEWEST = 6;

    static final double HALF_AGAIN = 1.5;
    static final double MORE_WAITING = 0.05;
    static final double MORE_PREEMPTIONS = 50;
    static final double OWN_PREEMPTIONS = 200;
    static final double MORE_PRESSURE = 0.1;
    static final double OWN_PRESSURE = 0.25;

    private StallRule() {}

    /**
     * One side of a run.
     *
     * @param label for people
     * @param rounds in order
     */
    public record Side(String label, List<Contention> rounds) {}

    /**
     * Judges all rounds of a run.
     *
     * @param sides with as many rounds each
     * @return for each round, why it was stalled; empty if it counts
     */
    public static List<Optional<String>> stalled(List<Side> sides) {
        int rounds = sides.getFirst().rounds().size();
        List<Optional<String>> all = new ArrayList<>();
        for (int i = 0; i < rounds; i++) {
            int round = i;
            all.add(
                    rounds < FEWEST
                            ? Optional.empty()
                            : sides.stream()
                                    .flatMap(side -> reason(side, round).stream())
                                    .reduce((first, second) -> first + "; " + second));
        }
        return all;
    }

    /** What rounds are judged by, in words. */
    public static String judgedBy(List<Side> sides) {
        List<Contention> rounds = sides.getFirst().rounds();
        if (rounds.size() < FEWEST) {
            return "nothing: that takes " + FEWEST + " rounds";
        }
        List<String> signals = new ArrayList<>();
        if (rounds.stream().allMatch(round -> round.waited().isPresent())) {
            signals.add("time on run queues");
        }
        signals.add("involuntary context switches");
        boolean hasPressure = rounds.stream().allMatch(round -> round.pressure().isPresent());
        if (hasPressure) {
            signals.add("CPU pressure");
        }
        return String.join(", ", signals) + ", against the run's own median"
                + (hasPressure
                        ? ""
                        : "; not by CPU pressure, since /proc/pressure/cpu cannot be read (kernel without CONFIG_PSI,"
                                + " or booted without psi=1)");
    }

    private static Optional<String> reason(Side side, int round) {
        Contention one = side.rounds().get(round);
        double waited = one.waited().orElse(0);
        double usualWaiting =
                median(side.rounds().stream().map(Contention::waited).toList());
        if (waited > HALF_AGAIN * usualWaiting && waited > usualWaiting + MORE_WAITING) {
            return Optional.of(String.format(
                    Locale.ROOT,
                    "%s: its threads waited %.2f s for a CPU in each second (median %.2f)",
                    side.label(),
                    waited,
                    usualWaiting));
        }
        double usualPreemptions = median(side.rounds().stream()
                .map(each -> OptionalDouble.of(each.preemptions()))
                .toList());
        if (usualPreemptions <= OWN_PREEMPTIONS
                && one.preemptions() > 2 * usualPreemptions
                && one.preemptions() > usualPreemptions + MORE_PREEMPTIONS) {
            return Optional.of(String.format(
                    Locale.ROOT,
                    "%s: %.0f involuntary context switches a second (median %.0f)",
                    side.label(),
                    one.preemptions(),
                    usualPreemptions));
        }
        double pressure = one.pressure().orElse(0);
        double usualPressure =
                median(side.rounds().stream().map(Contention::pressure).toList());
        return usualPressure <= OWN_PRESSURE && pressure > usualPressure + MORE_PRESSURE
                ? Optional.of(String.format(
                        Locale.ROOT,
                        "%s: CPU pressure in %.0f %% of the time (median %.0f %%)",
                        side.label(),
                        100 * pressure,
                        100 * usualPressure))
                : Optional.empty();
    }

    private static double median(List<OptionalDouble> figures) {
        double[] sorted = figures.stream()
                .mapToDouble(figure -> figure.orElse(0))
                .sorted()
                .toArray();
        return (sorted[(sorted.length - 1) / 2] + sorted[sorted.length / 2]) / 2;
    }
}
