package io.farpage.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.farpage.coordinator.model.SpaceNodes;
import io.farpage.coordinator.model.SpaceRequest;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Which spaces a pass of {@link Repairs} looks at. */
@Tag("portable")
class OutstandingTest {
    private static final int PAGE = 4096;
    private static final long POOL = 16 * PAGE;

    private final Fixture with = new Fixture();
    private final Drains drains = new Drains(with.ledger, new Copies(with.time));
    private final Outstanding outstanding = new Outstanding();

    @BeforeEach
    void createThreeSettledSpaces() {
        with.membership.register("a", Fixture.node(1, POOL));
        with.membership.register("b", Fixture.node(2, POOL));
        create("vm1", "a");
        create("vm2", "b");
        create("vm3", "b");
        assertEquals(Set.of(key(1), key(2), key(3)), outstanding.observe(with.ledger.state()));
        assertEquals(List.of(key(1), key(2), key(3)), outstanding.inTurn());
        settle(1, 2, 3);
        assertEquals(List.of(), outstanding.inTurn());
    }

    private void create(String name, String home) {
        with.spaces.create(new SpaceRequest(name, PAGE, OptionalInt.empty(), Optional.of(List.of(home))));
    }

    private static String key(long space) {
        return Keys.id(space);
    }

    private void settle(long... spaces) {
        for (long space : spaces) {
            outstanding.onLooked(key(space), true);
        }
    }

    private List<String> observed() {
        outstanding.observe(with.ledger.state());
        return outstanding.inTurn();
    }

    @Test
    void shouldLookAtNothingIfNoSpaceAndNoNodeHasChanged() {
        with.membership.register("c", Fixture.node(3, POOL));
        with.ledger.prove();
        assertEquals(List.of(), observed());
    }

    @Test
    void shouldLookAtASpaceThatIsNewOrHasChanged() {
        create("vm4", "a");
        assertEquals(List.of(key(4)), observed());
        settle(4);
        with.spaces.allow("vm2", new SpaceNodes(Optional.of(List.of("a"))), Optional.empty());
        assertEquals(List.of(key(2)), observed());
    }

    @Test
    void shouldNameSpacesWhoseExtentsHaveChangedOrAreGone() {
        with.spaces.allow("vm1", new SpaceNodes(Optional.of(List.of("a"))), Optional.empty());
        with.spaces.delete("vm2", false);
        assertEquals(Set.of(key(2)), outstanding.observe(with.ledger.state()));
    }

    @Test
    void shouldLookAtSpacesOnANodeThatFailsAndThatIsBack() {
        with.time.advance(Fixture.LEASE.minusSeconds(1));
        with.membership.heartbeat("a", Fixture.node(1, POOL).incarnation());
        with.time.advance(Duration.ofSeconds(1));
        assertEquals(List.of("b"), with.membership.expire());
        assertEquals(List.of(key(2), key(3)), observed());
        settle(2, 3);
        assertEquals(List.of(), observed());
        with.membership.heartbeat("b", Fixture.node(2, POOL).incarnation());
        assertEquals(List.of(key(2), key(3)), observed());
    }

    @Test
    void shouldLookAtSpacesOnANodeThatIsDrainedAndThatIsNotAnyMore() {
        drains.begin("b");
        assertEquals(List.of(key(2), key(3)), observed());
        settle(2, 3);
        drains.cancel("b");
        assertEquals(List.of(key(2), key(3)), observed());
    }

    @Test
    void shouldTakeInTurnWhatDoesNotSettle() {
        drains.begin("b");
        outstanding.add(key(1));
        assertEquals(List.of(key(1), key(2), key(3)), observed());
        outstanding.onLooked(key(1), false);
        assertEquals(List.of(key(2), key(3), key(1)), observed());
        outstanding.onLooked(key(2), true);
        outstanding.onLooked(key(3), false);
        assertEquals(List.of(key(1), key(3)), observed());
    }
}
