package io.farpage.bench.stall;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The rule on figures that were recorded on a machine of two CPUs while other programs ran on it at times. */
final class StallRuleTest {
    private static Contention of(double pressure, double waited, double preemptions) {
        return new Contention(OptionalDouble.of(pressure), OptionalDouble.of(waited), preemptions);
    }

    /** {@code fault --case random --idle block}: all sides share a CPU. */
    private static final StallRule.Side SHARING_FARPAGE = new StallRule.Side(
            "farpage",
            List.of(
                    of(0.95, 0.196, 1940),
                    of(0.92, 0.190, 1509),
                    of(0.91, 0.375, 685),
                    of(0.92, 0.152, 3325),
                    of(0.95, 0.068, 840),
                    of(0.90, 0.183, 1463),
                    of(0.93, 0.407, 962),
                    of(0.88, 0.164, 2281),
                    of(0.96, 0.171, 1838)));

    private static final StallRule.Side SHARING_C = new StallRule.Side(
            "baseline",
            List.of(
                    of(0.80, 0.192, 0),
                    of(0.97, 0.245, 0),
                    of(0.89, 0.446, 2.7),
                    of(0.84, 0.243, 0),
                    of(0.87, 0.138, 0),
                    of(0.76, 0.223, 0),
                    of(0.99, 0.145, 2.5),
                    of(0.73, 0.244, 0),
                    of(0.83, 0.157, 2.5)));

    /** {@code fetch --mode latency --idle spin}: each side has a CPU. */
    private static final StallRule.Side SPINNING_FARPAGE = new StallRule.Side(
            "farpage",
            List.of(
                    of(0.791, 1.355, 261),
                    of(0.440, 0.479, 658),
                    of(0.057, 0.086, 135),
                    of(0.047, 0.060, 163),
                    of(0.042, 0.072, 161),
                    of(0.036, 0.041, 140),
                    of(0.116, 0.138, 286),
                    of(0.054, 0.087, 166),
                    of(0.039, 0.042, 136),
                    of(0.049, 0.056, 107),
                    of(0.055, 0.051, 119)));

    private static final StallRule.Side SPINNING_C = new StallRule.Side(
            "baseline",
            List.of(
                    of(0.659, 0.953, 356),
                    of(0.826, 1.262, 260),
                    of(0.084, 0.071, 65),
                    of(0.062, 0.041, 74),
                    of(0.008, 0.005, 48),
                    of(0.022, 0.017, 70),
                    of(0.007, 0.005, 38),
                    of(0.023, 0.020, 89),
                    of(0.022, 0.013, 57),
                    of(0.020, 0.017, 48),
                    of(0.007, 0.006, 54)));

    private static List<Integer> dropped(StallRule.Side... sides) {
        List<Optional<String>> stalled = StallRule.stalled(List.of(sides));
        return IntStream.range(0, stalled.size())
                .filter(round -> stalled.get(round).isPresent())
                .boxed()
                .toList();
    }

    private static StallRule.Side without(StallRule.Side side, boolean waiting, boolean pressure) {
        return new StallRule.Side(
                side.label(),
                side.rounds().stream()
                        .map(one -> new Contention(
                                pressure ? one.pressure() : OptionalDouble.empty(),
                                waiting ? one.waited() : OptionalDouble.empty(),
                                one.preemptions()))
                        .toList());
    }

    @Test
    void shouldDropRoundsInWhichThreadsThatShareACpuWaitedLonger() {
        assertEquals(List.of(2, 6), dropped(SHARING_FARPAGE, SHARING_C));
        assertEquals(
                Optional.of("farpage: its threads waited 0.38 s for a CPU in each second (median 0.18);"
                        + " baseline: its threads waited 0.45 s for a CPU in each second (median 0.22)"),
                StallRule.stalled(List.of(SHARING_FARPAGE, SHARING_C)).get(2));
    }

    @Test
    void shouldNotJudgeSharedCpusByPressureNorByOwnPreemptions() {
        assertEquals(List.of(), dropped(without(SHARING_FARPAGE, false, true), without(SHARING_C, false, true)));
    }

    @Test
    void shouldDropRoundsInWhichThreadsWithACpuEachHadToWait() {
        assertEquals(List.of(0, 1, 2, 6), dropped(SPINNING_FARPAGE, SPINNING_C));
    }

    @Test
    void shouldJudgeByPressureAlsoWhereWaitingIsNotCounted() {
        StallRule.Side farpage = without(SPINNING_FARPAGE, false, true);
        assertEquals(List.of(0, 1), dropped(farpage));
        assertEquals(
                Optional.of("farpage: CPU pressure in 79 % of the time (median 5 %)"),
                StallRule.stalled(List.of(farpage)).get(0).filter(reason -> !reason.contains("switches")));
    }

    @Test
    void shouldJudgeByPreemptionsAloneWhereThereIsNothingElse() {
        StallRule.Side c = without(SPINNING_C, false, false);
        assertEquals(List.of(0, 1), dropped(c));
        assertEquals(
                Optional.of("baseline: 356 involuntary context switches a second (median 65)"),
                StallRule.stalled(List.of(c)).getFirst());
        String judgedBy = StallRule.judgedBy(List.of(c));
        assertTrue(
                judgedBy.startsWith("involuntary context switches, against the run's own median; not by CPU pressure"),
                judgedBy);
    }

    @Test
    void shouldDropNoRoundWhenAllAreAlikeBusy() {
        StallRule.Side busy = new StallRule.Side(
                "farpage", Stream.generate(() -> of(0.9, 1.4, 300)).limit(9).toList());
        assertEquals(List.of(), dropped(busy));
    }

    @Test
    void shouldJudgeNothingByFewerRoundsThanSix() {
        StallRule.Side few =
                new StallRule.Side("farpage", SPINNING_FARPAGE.rounds().subList(1, 6));
        assertEquals(List.of(), dropped(few));
        assertEquals("nothing: that takes 6 rounds", StallRule.judgedBy(List.of(few)));
    }
}
