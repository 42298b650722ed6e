package io.farpage.agent.pager.model;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** A page is at every moment in at least one place, and a reader never sees an old version. */
final class PagingModelTest {
    private static final int RUNS = Integer.getInteger("farpage.runs", 2_500);
    private static final int STEPS = 300;
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
                                + Replay.recipe(setup, Replay.shortest(setup, schedule.taken())),
                        e);
            }
            steps += schedule.taken().size();
        }
        System.out.println(steps + " steps in " + RUNS + " runs, seed " + seed);
    }
}
