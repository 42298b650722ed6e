package io.farpage.agent.data.coherence;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.coherence.CoherentWorld.Event;
import io.farpage.agent.data.coherence.CoherentWorld.Setup;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/**
 * Real members and directories under all schedules of short programs, up to a length that follows from the number of
 * states, {@code -Dfarpage.states}.
 */
class AllSchedulesTest {
    private static final int STATES = Integer.getInteger("farpage.states", 500);
    private static final int LEAST_DEPTH = 4;

    private static void explore(int pages, int limit, Map<Event, Integer> failures, String... programs) {
        Setup setup = new Setup(1, programs.length, pages, limit, 1, 100, 1, Set.copyOf(failures.keySet()));
        AllSchedules all = new AllSchedules(setup, List.of(programs), failures);
        all.explore(STATES);
        System.out.println(List.of(programs) + " with " + failures + ": " + all);
        assertTrue(all.depth() > LEAST_DEPTH, all::toString);
    }

    @Test
    void shouldBeCoherentWhenTwoMembersStoreAndLoad() {
        explore(1, 1, Map.of(), "w0 r0 w0", "r0 w0 r0");
    }

    @Test
    void shouldBeCoherentWhenThreeMembersStoreAndLoad() {
        explore(1, 1, Map.of(), "r0 w0", "r0", "w0");
    }

    @Test
    void shouldBeCoherentWhenMembersEvictPages() {
        explore(2, 1, Map.of(), "w0 r1", "w1 w0");
    }

    @Test
    void shouldBeCoherentWhenAChannelBreaksAtAnyTime() {
        explore(1, 1, Map.of(Event.BREAKS, 1), "w0", "w0 r0");
    }

    @Test
    void shouldBeCoherentWhenTheHomeRestartsAtAnyTime() {
        explore(1, 1, Map.of(Event.RESTARTS, 1), "w0", "r0 w0");
    }

    @Test
    void shouldBeCoherentWhenAnAgentIsKilledAtAnyTime() {
        explore(1, 1, Map.of(Event.ADOPTS, 1), "w0", "r0 w0");
    }

    @Test
    void shouldBeCoherentWhenAHomeIsDroppedAtAnyTime() {
        explore(1, 1, Map.of(Event.DROPS, 1), "w0", "w0");
    }
}
