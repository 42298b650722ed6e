package io.farpage.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.coordinator.model.ExtentState;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.rest.ProblemException;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;

/** A node that has the only copy of pages is taken out by force alone. */
class LastCopiesTest {

    private static final long POOL = 1 << 20;

    private final Fixture with = new Fixture();

    private void makeASpace(int replicas) {
        with.membership.register("a", Fixture.node(1, POOL));
        with.membership.register("b", Fixture.node(2, POOL));
        List<String> homes = List.of("a", "b").subList(0, replicas);
        with.spaces.create(
                new SpaceRequest("vm", 4096, OptionalInt.empty(), Optional.of(homes)).withReplicas(replicas));
    }

    private void assertRefused(String node, long incarnation) {
        ProblemException refused = assertThrows(
                ProblemException.class, () -> with.membership.deregister(node, new Incarnation(incarnation), false));
        assertTrue(refused.problem("").is("last-copies"), refused::getMessage);
        assertTrue(refused.problem("").detail().contains("the only copies of 1 extents"), refused::getMessage);
    }

    @Test
    void shouldTakeOutANodeWithTheOnlyCopyByForceAlone() {
        makeASpace(1);
        assertRefused("a", 1);
        assertEquals(ExtentState.OK, with.spaces.require("vm").state());
        assertEquals(1, with.membership.deregister("a", new Incarnation(1), true));
        assertEquals(ExtentState.LOST, with.spaces.require("vm").state());
    }

    @Test
    void shouldTakeOutANodeWhoseExtentsHaveAnotherLiveHome() {
        makeASpace(2);
        assertEquals(0, with.membership.deregister("a", new Incarnation(1), false));
        assertEquals(ExtentState.OK, with.spaces.require("vm").state());
        assertRefused("b", 2);
    }

    @Test
    void shouldAskForForceIfTheOtherHomeHasFailed() {
        makeASpace(2);
        with.time.advance(Fixture.LEASE.minusSeconds(1));
        with.membership.heartbeat("a", new Incarnation(1));
        with.time.advance(Fixture.LEASE.minusSeconds(1));
        with.membership.expire();
        assertRefused("a", 1);
        assertEquals(0, with.membership.deregister("b", new Incarnation(2), false));
    }

    @Test
    void shouldTakeOutAnEmptyNodeAndOneWhosePagesAreLost() {
        makeASpace(1);
        with.membership.register("a", Fixture.node(3, POOL));
        assertEquals(0, with.membership.deregister("a", new Incarnation(3), false));
        assertEquals(0, with.membership.deregister("b", new Incarnation(2), false));
    }
}
