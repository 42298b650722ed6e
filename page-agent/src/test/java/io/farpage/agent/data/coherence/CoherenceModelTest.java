package io.farpage.agent.data.coherence;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.coherence.CoherentWorld.Setup;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * The real members and directories under random schedules. A failure names its setup and seed; {@code -Dfarpage.seed}
 * begins with it, and {@code -Dfarpage.worlds} says how many are run.
 */
class CoherenceModelTest {
    private static final int STEPS = 2_000;
    private static final long WORLDS = Long.getLong("farpage.worlds", 300);

    private static Setup draw(
            Random random, boolean breaks, boolean restarts, boolean leaves, boolean kills, boolean adopts) {
        int pages = 1 + random.nextInt(5);
        int homes = 1 + random.nextInt(Math.min(2, pages));
        return new Setup(
                homes,
                1 + random.nextInt(3),
                pages,
                1 + random.nextInt(pages),
                1 + random.nextInt(3),
                1 + random.nextInt(6),
                breaks,
                restarts,
                leaves,
                kills,
                adopts);
    }

    private static long run(boolean breaks, boolean restarts, boolean leaves, boolean kills, boolean adopts) {
        long stores = 0;
        long adoptions = 0;
        long start = Long.getLong("farpage.seed", System.nanoTime());
        for (long i = 0; i < WORLDS; i++) {
            long seed = start + i;
            Setup setup = draw(new Random(seed), breaks, restarts, leaves, kills, adopts);
            try {
                CoherentWorld world = new CoherentWorld(setup, seed);
                world.run(STEPS);
                stores += world.stores();
                adoptions += world.adoptions();
            } catch (AssertionError | RuntimeException e) {
                throw new AssertionError("-Dfarpage.seed=" + seed + ": " + e.getMessage(), e);
            }
        }
        assertTrue(adopts ? adoptions > WORLDS : adoptions == 0, "adoptions: " + adoptions);
        return stores;
    }

    @Test
    void shouldBeCoherentWhenNothingFails() {
        assertTrue(run(false, false, false, false, false) > WORLDS);
    }

    @Test
    void shouldBeCoherentWhenChannelsBreak() {
        assertTrue(run(true, false, false, false, false) > WORLDS);
    }

    @Test
    void shouldBeCoherentWhenAgentsOfHomesAreKilled() {
        assertTrue(run(true, true, false, false, false) > WORLDS);
    }

    @Test
    void shouldBeCoherentWhenProcessesEnd() {
        assertTrue(run(true, true, true, false, false) > WORLDS);
    }

    @Test
    void shouldLosePagesLoudlyWhenMembersAreKilled() {
        assertTrue(run(true, false, true, true, false) > WORLDS);
    }

    @Test
    void shouldReadNoOldVersionWhenHomeDoesNotKnowWhatWasLost() {
        assertTrue(run(true, true, true, true, false) > WORLDS);
    }

    @Test
    void shouldLoseNoPageWhenAgentsOfMembersAreKilled() {
        assertTrue(run(false, false, false, false, true) > WORLDS);
    }

    @Test
    void shouldSavePagesWhenProcessEndsBeforeItIsAdopted() {
        assertTrue(run(true, false, true, false, true) > WORLDS);
    }

    @Test
    void shouldBeCoherentWhenAgentsOfHomesAndMembersAreKilled() {
        assertTrue(run(true, true, true, false, true) > WORLDS);
    }

    @Test
    void shouldReadNoOldVersionWhenAllOfThatFails() {
        assertTrue(run(true, true, true, true, true) > WORLDS);
    }
}
