package io.farpage.agent.data.pager.model;

import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.Function;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

/**
 * A page is at every moment in at least one place, and a reader never sees an old version. Random schedules print their
 * seed when they fail and the shortest schedule that was found to fail; {@code -Dfarpage.seed} and
 * {@code -Dfarpage.runs} repeat them.
 */
@Tag("portable")
final class PagingModelTest {
    private static final int STEPS = 300;
    private static final int RUNS = 80;
    private static final int SOAK_RUNS =
            Integer.getInteger("farpage.runs", 200 * Integer.getInteger("farpage.soak.percent", 100));
    private static final Duration SHORT = Duration.ofSeconds(1);
    private static final Duration LONG = Duration.ofMinutes(5);

    /** More than a run needs, on a loaded machine too. */
    private static final Duration WHOLE = Duration.ofSeconds(60);

    private static final Duration PART = Duration.ofMillis(250);
    private static final Duration SOAK_PART = Duration.ofSeconds(5);
    static final Logger logger = (Logger) LoggerFactory.getLogger("io.farpage.agent");

    @BeforeAll
    static void beSilent() {
        logger.setLevel(Level.OFF);
    }

    @AfterAll
    static void logAgain() {
        logger.setLevel(null);
    }

    /** The same schedules each time. */
    @ParameterizedTest
    @ValueSource(longs = {1, 2})
    void shouldKeepEveryPageInFixedSchedules(long seed) {
        run(Setup::random, seed, RUNS, WHOLE);
    }

    @Test
    void shouldKeepEveryPageInRandomSchedules() {
        run(Setup::random, anySeed(), SOAK_RUNS, SHORT);
    }

    @ParameterizedTest
    @EnumSource
    void shouldKeepEveryPageInRandomSchedulesWith(Feature feature) {
        run(random -> Setup.random(random, Set.of(feature)), anySeed(), RUNS, SHORT);
    }

    /** Small worlds that evict much, since what a copy may miss is a write-back at the same time. */
    @Test
    void shouldHaveEveryPageAtHomesThatHaveJoined() {
        run(PagingModelTest::joining, anySeed(), 20 * RUNS, Duration.ofSeconds(4));
    }

    @Test
    @Tag("soak")
    void shouldHaveEveryPageAtHomesThatHaveJoinedInManySchedules() {
        run(PagingModelTest::joining, anySeed(), SOAK_RUNS, LONG);
    }

    private static Setup joining(SplittableRandom random) {
        int pages = random.nextInt(3, 7);
        int slots = random.nextInt(4, 9);
        return new Setup(pages, 0, random.nextInt(2, 5), random.nextInt(1, 4), 1, slots, 8).with(Feature.JOINING);
    }

    @ParameterizedTest
    @EnumSource(names = {"CLONE", "THIN", "JOINING", "KEPT", "LARGE_PAGES"})
    void shouldKeepEveryPageOfTheMomentOfASnapshot(Feature feature) {
        run(random -> Setup.random(random, EnumSet.of(Feature.SNAPSHOT, feature)), anySeed(), RUNS, SHORT);
    }

    @ParameterizedTest
    @EnumSource(names = {"LARGE_PAGES", "TWO_HOMES"})
    void shouldServeEveryThreadWhenMemoryIsScarce(Feature feature) {
        run(random -> Setup.random(random, EnumSet.of(Feature.SCARCE_MEMORY, feature)), anySeed(), RUNS, SHORT);
    }

    @ParameterizedTest
    @Tag("soak")
    @EnumSource(names = {"LARGE_PAGES", "TWO_HOMES"})
    void shouldServeEveryThreadInManySchedulesWhenMemoryIsScarce(Feature feature) {
        run(random -> Setup.random(random, EnumSet.of(Feature.SCARCE_MEMORY, feature)), anySeed(), SOAK_RUNS / 4, LONG);
    }

    @Test
    @Tag("soak")
    void shouldKeepEveryPageInManyRandomSchedules() {
        run(Setup::random, anySeed(), SOAK_RUNS, LONG);
    }

    @ParameterizedTest
    @Tag("soak")
    @EnumSource
    void shouldKeepEveryPageInManyRandomSchedulesWith(Feature feature) {
        run(random -> Setup.random(random, EnumSet.of(feature)), anySeed(), SOAK_RUNS / 4, LONG);
    }

    static long anySeed() {
        return Long.getLong("farpage.seed", System.nanoTime());
    }

    /** Runs worlds until the number or the time is reached. */
    static void run(Function<SplittableRandom, Setup> setups, long seed, int runs, Duration time) {
        SplittableRandom seeds = new SplittableRandom(seed);
        long until = System.nanoTime() + time.toNanos();
        long steps = 0;
        int run = 0;
        for (; run < runs && System.nanoTime() - until < 0; run++) {
            SplittableRandom random = seeds.split();
            Setup setup = setups.apply(random);
            RandomSchedule schedule = new RandomSchedule(random, STEPS);
            try {
                new World(setup, schedule).run();
            } catch (AssertionError | RuntimeException e) {
                throw new AssertionError(
                        "run " + run + " of -Dfarpage.seed=" + seed + " fails; repeat with: "
                                + Replay.recipe(setup, schedule.cycleNanos(), schedule.chosen()),
                        e);
            }
            steps += schedule.chosen().size();
        }
        System.out.println(steps + " steps in " + run + " runs, seed " + seed);
    }

    @ParameterizedTest
    @ValueSource(strings = {"w0/0 b0/0"})
    void shouldKeepEveryPageInAllOrders(String programs) {
        assertTrue(explore(programs, false, WHOLE).isExhausted(), programs);
    }

    @ParameterizedTest
    @Tag("soak")
    @ValueSource(strings = {"w0/0 w0/1 w0/0", "w0/0 ; w1/1", "w0/0 ; r1/0", "z0/0 ; w1/0"})
    void shouldKeepEveryPageInAllOrdersOfLongerPrograms(String programs) {
        assertTrue(explore(programs, false, WHOLE).isExhausted(), programs);
    }

    @ParameterizedTest
    @ValueSource(strings = {"w0/0 r0/1 ; w1/1 r1/0", "w0/0 z0/0 ; r1/0 w1/0", "w0/1 w0/0 ; B1/0 r1/1", "z0/0 ; w1/0"})
    void shouldKeepEveryPageInAllOrdersWithinTime(String programs) {
        explore(programs, false, PART);
    }

    /** A device writes to pinned pages while inspections of pins begin and end at any step. */
    @ParameterizedTest
    @ValueSource(strings = {"d0/0 ; w1/1", "d0/0 w0/1 ; d1/0", "w0/0 d0/0 ; r1/1"})
    void shouldKeepBytesOfDeviceWhenPageIsPinned(String programs) {
        explore(programs, false, PART);
    }

    @ParameterizedTest
    @ValueSource(strings = {"w0/0 ; w1/1", "w0/0 b0/0"})
    void shouldSaveEveryPageWhenVmmIsKilledAtAnyStep(String programs) {
        explore(programs, true, PART);
    }

    @ParameterizedTest
    @Tag("soak")
    @ValueSource(
            strings = {
                "w0/0 r0/1 ; w1/1 r1/0",
                "w0/0 z0/0 ; r1/0 w1/0",
                "w0/1 w0/0 ; B1/0 r1/1",
                "d0/0 ; w1/1",
                "d0/0 w0/1 ; d1/0",
                "w0/0 d0/0 ; r1/1"
            })
    void shouldKeepEveryPageInManyOrders(String programs) {
        explore(programs, false, SOAK_PART);
    }

    @ParameterizedTest
    @Tag("soak")
    @ValueSource(strings = {"w0/0 ; w1/1", "w0/0 b0/0"})
    void shouldSaveEveryPageInManyOrdersWhenVmmIsKilledAtAnyStep(String programs) {
        explore(programs, true, SOAK_PART);
    }

    static Explorer explore(String programs, boolean ends, Duration time, Feature... features) {
        List<List<Step>> each = Stream.of(programs.split(";")).map(Step::parse).toList();
        Explorer explorer = new Explorer(new Setup(2, 0, each.size(), 1, 1, 2, 4).with(features), each, ends);
        explorer.explore(System.nanoTime() + time.toNanos());
        System.out.println(programs + ": " + explorer);
        return explorer;
    }
}
