package io.farpage.bench.agents;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.bench.agents.Simulation.Cause;
import io.farpage.bench.agents.Simulation.Cost;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("portable")
class SimulationTest {
    private static final int EVENTS = 20;
    private static final long SEED = 42;

    private static double requests(Map<Cause, Cost> costs, Cause cause) {
        Cost cost = Optional.ofNullable(costs.get(cause)).orElseThrow();
        return (double) cost.requests / cost.events;
    }

    private static double bytes(Map<Cause, Cost> costs, Cause cause) {
        Cost cost = Optional.ofNullable(costs.get(cause)).orElseThrow();
        return (double) cost.bytes / cost.events;
    }

    @Test
    void shouldCostOnDemandAsMuchInALargeClusterAsInASmallOne() {
        System.out.println("seed " + SEED);
        Map<Cause, Cost> small = Simulation.run(10, Links.DEMAND, EVENTS, SEED);
        Map<Cause, Cost> large = Simulation.run(500, Links.DEMAND, EVENTS, SEED);
        for (Cause cause : new Cause[] {Cause.JOIN, Cause.CHANGE, Cause.ATTACH}) {
            String what = cause + ": " + requests(small, cause) + " and " + requests(large, cause);
            assertTrue(requests(large, cause) < 2 * requests(small, cause) + 5, what);
            assertTrue(bytes(large, cause) < 2 * bytes(small, cause) + 5_000, what);
        }
    }

    /** All agents are notified of a failure, with one short answer each. */
    @Test
    void shouldTellAllAgentsOfAFailureWithOneAnswerEach() {
        System.out.println("seed " + SEED);
        Map<Cause, Cost> costs = Simulation.run(300, Links.DEMAND, EVENTS, SEED);
        double agents = 300 + EVENTS / 2.0;
        assertTrue(requests(costs, Cause.FAILURE) >= agents, "all are told");
        assertTrue(requests(costs, Cause.FAILURE) < 1.3 * agents, "and ask for nothing");
        assertTrue(bytes(costs, Cause.FAILURE) / agents < 400);
    }

    @Test
    void shouldCountTheSameForTheSameSeed() {
        assertEquals(
                requests(Simulation.run(40, Links.DEMAND, EVENTS, SEED), Cause.ATTACH),
                requests(Simulation.run(40, Links.DEMAND, EVENTS, SEED), Cause.ATTACH));
    }
}
