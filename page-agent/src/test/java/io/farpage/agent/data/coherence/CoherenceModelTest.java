package io.farpage.agent.data.coherence;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.coherence.CoherentWorld.Event;
import io.farpage.agent.data.coherence.CoherentWorld.Setup;
import java.util.EnumSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

/**
 * The real members and directories under random schedules. A failure names its setup and seed; {@code -Dfarpage.seed}
 * begins with it, and {@code -Dfarpage.worlds} says how many are run.
 */
class CoherenceModelTest {
    private static final int STEPS = 2_000;
    private static final long WORLDS = Long.getLong("farpage.worlds", 300);

    private static Setup draw(Random random, Set<Event> events) {
        int pages = 1 + random.nextInt(7);
        int homes = 1 + random.nextInt(Math.min(2, pages));
        return new Setup(
                homes,
                1 + random.nextInt(3),
                pages,
                1 + random.nextInt(pages),
                1 + random.nextInt(3),
                1 + random.nextInt(6),
                random.nextBoolean() ? 1 : 9,
                events);
    }

    private static void run(Event... events) {
        Set<Event> all = EnumSet.noneOf(Event.class);
        all.addAll(List.of(events));
        long stores = 0;
        long adoptions = 0;
        long drops = 0;
        long start = Long.getLong("farpage.seed", System.nanoTime());
        for (long i = 0; i < WORLDS; i++) {
            long seed = start + i;
            try {
                Random random = new Random(seed);
                CoherentWorld world = new CoherentWorld(draw(new Random(seed), all), random);
                new RandomSchedule(world, random).run(STEPS);
                stores += world.stores();
                adoptions += world.adoptions();
                drops += world.drops();
            } catch (AssertionError | RuntimeException e) {
                throw new AssertionError("-Dfarpage.seed=" + seed + ": " + e.getMessage(), e);
            }
        }
        assertTrue(stores > WORLDS, "stores: " + stores);
        assertTrue(all.contains(Event.ADOPTS) ? adoptions > WORLDS : adoptions == 0, "adoptions: " + adoptions);
        assertTrue(all.contains(Event.DROPS) ? drops > WORLDS / 4 : drops == 0, "drops: " + drops);
    }

    @Test
    void shouldBeCoherentWhenNothingFails() {
        run();
    }

    @Test
    void shouldBeCoherentWhenChannelsBreak() {
        run(Event.BREAKS);
    }

    @Test
    void shouldBeCoherentWhenAgentsOfHomesAreKilled() {
        run(Event.BREAKS, Event.RESTARTS);
    }

    @Test
    void shouldBeCoherentWhenProcessesEnd() {
        run(Event.BREAKS, Event.RESTARTS, Event.LEAVES);
    }

    @Test
    void shouldLosePagesLoudlyWhenMembersAreKilled() {
        run(Event.BREAKS, Event.LEAVES, Event.KILLS);
    }

    @Test
    void shouldReadNoOldVersionWhenHomeDoesNotKnowWhatWasLost() {
        run(Event.BREAKS, Event.RESTARTS, Event.LEAVES, Event.KILLS);
    }

    @Test
    void shouldLoseNoPageWhenAgentsOfMembersAreKilled() {
        run(Event.ADOPTS);
    }

    @Test
    void shouldSavePagesWhenProcessEndsBeforeItIsAdopted() {
        run(Event.BREAKS, Event.LEAVES, Event.ADOPTS);
    }

    @Test
    void shouldBeCoherentWhenAgentsOfHomesAndMembersAreKilled() {
        run(Event.BREAKS, Event.RESTARTS, Event.LEAVES, Event.ADOPTS);
    }

    @Test
    void shouldLoseNoPageWhenAHomeIsDropped() {
        run(Event.DROPS);
    }

    @Test
    void shouldLoseNoPageWhenAHomeIsDroppedAndAgentsAreKilled() {
        run(Event.BREAKS, Event.RESTARTS, Event.LEAVES, Event.ADOPTS, Event.DROPS);
    }

    @Test
    void shouldReadNoOldVersionWhenAllOfThatFails() {
        run(Event.values());
    }
}
