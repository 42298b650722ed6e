package io.farpage.agent.pager.model;

import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import java.time.Duration;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

/** A page is at every moment in at least one place, and a reader never sees an old version. */
final class PagingModelTest {
    private static final int RUNS = Integer.getInteger("farpage.runs", 2_500);
    private static final int STEPS = 300;
    /** More than it takes, on a loaded machine too. */
    private static final Duration WHOLE = Duration.ofSeconds(60);

    private static final Duration PART = Duration.ofSeconds(2);
    private static final Logger logger = (Logger) LoggerFactory.getLogger("io.farpage.agent");

    @BeforeAll
    static void beSilent() {
        logger.setLevel(Level.OFF);
    }

    @AfterAll
    static void logAgain() {
        logger.setLevel(null);
    }

    @Test
    void shouldKeepEveryPageInWhateverOrderThingsHappen() {
        long seed = Long.getLong("farpage.seed", System.nanoTime());
        SplittableRandom seeds = new SplittableRandom(seed);
        long steps = 0;
        for (int run = 0; run < RUNS; run++) {
            SplittableRandom random = seeds.split();
            Setup setup = Setup.random(random);
            RandomSchedule schedule = new RandomSchedule(random, STEPS);
            try {
                new World(setup, schedule).run();
            } catch (AssertionError | RuntimeException e) {
                throw new AssertionError(
                        "run " + run + " of -Dfarpage.seed=" + seed + " fails; repeat with: "
                                + Replay.recipe(setup, schedule.turnNanos(), schedule.taken()),
                        e);
            }
            steps += schedule.taken().size();
        }
        System.out.println(steps + " steps in " + RUNS + " runs, seed " + seed);
    }

    @ParameterizedTest
    @ValueSource(strings = {"w0/0 w0/1 w0/0", "w0/0 ; w1/1", "w0/0 b0/0", "w0/0 ; r1/0", "z0/0 ; w1/0"})
    void shouldKeepEveryPageInAllOrders(String programs) {
        assertTrue(explore(programs, false, WHOLE).isExhausted(), programs);
    }

    @ParameterizedTest
    @ValueSource(strings = {"w0/0 r0/1 ; w1/1 r1/0", "w0/0 z0/0 ; r1/0 w1/0", "w0/1 w0/0 ; B1/0 r1/1"})
    void shouldKeepEveryPageInAsManyOrdersAsThereIsTimeFor(String programs) {
        explore(programs, false, PART);
    }

    /** A device writes to pinned pages while inspections of pins begin and end at any step. */
    @ParameterizedTest
    @ValueSource(strings = {"d0/0 ; w1/1", "d0/0 w0/1 ; d1/0", "w0/0 d0/0 ; r1/1"})
    void shouldKeepWhatDeviceWritesToPinnedPage(String programs) {
        explore(programs, false, PART);
    }

    @ParameterizedTest
    @ValueSource(strings = {"w0/0 ; w1/1", "w0/0 b0/0"})
    void shouldSaveEveryPageWhereverTheVmmIsKilled(String programs) {
        explore(programs, true, PART);
    }

    private static Explorer explore(String programs, boolean ends, Duration time) {
        List<List<Step>> each = Stream.of(programs.split(";")).map(Step::parse).toList();
        Explorer explorer = new Explorer(new Setup(2, 0, each.size(), 1, 1, 2, 4), each, ends);
        explorer.explore(System.nanoTime() + time.toNanos());
        System.out.println(programs + ": " + explorer);
        return explorer;
    }
}
