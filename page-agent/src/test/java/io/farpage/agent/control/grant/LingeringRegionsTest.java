package io.farpage.agent.control.grant;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.control.grant.PoolRanges.PoolRange;
import io.farpage.coordinator.model.Incarnation;
import java.util.HashMap;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** How long a node may read by the keys that it had before its guest's pages became a snapshot's. */
final class LingeringRegionsTest {
    private static final Incarnation INCARNATION = new Incarnation(1);
    private static final GrantParties GUEST =
            new GrantParties(1, "home", INCARNATION, "guest", INCARNATION, 1, Optional.empty());
    private static final PoolRange RANGE = new PoolRange(4096, 4096);
    private static final long BEGAN = 100;

    private final LingeringRegions regions = new LingeringRegions();

    @BeforeEach
    void add() {
        regions.add(GUEST, RANGE, new HashMap<>(), BEGAN);
    }

    private boolean isLeft(boolean reads, boolean knows, long seconds) {
        regions.revokeEnded((_, _) -> reads, (_, _) -> knows, BEGAN + TimeUnit.SECONDS.toNanos(seconds));
        return !regions.isEmpty();
    }

    @Test
    void shouldLingerUntilASecondAfterTheOtherKeysWerePublished() {
        assertTrue(isLeft(true, false, 20), "a large range takes long to register");
        assertTrue(isLeft(true, true, 21));
        assertTrue(isLeft(true, false, 22), "the grant is being published again, with another range");
        assertFalse(isLeft(true, true, 23));
    }

    @Test
    void shouldNotLingerForLongerThanHalfAMinute() {
        assertTrue(isLeft(true, false, 30));
        assertFalse(isLeft(true, false, 31));
    }

    @Test
    void shouldNotLingerWhenTheNodeMayNotRead() {
        assertFalse(isLeft(false, false, 0));
    }

    @Test
    void shouldBeRevokedWithTheRangeThatIsReleased() {
        assertTrue(regions.overlaps(8000, 4096));
        regions.revoke(0, 4096);
        assertTrue(regions.overlaps(4096, 1));
        regions.revoke(8191, 1);
        assertTrue(regions.isEmpty());
        assertFalse(regions.overlaps(4096, 1));
    }

    @Test
    void shouldBeRevokedWithTheNode() {
        regions.revokeOf(parties -> !parties.equals(GUEST));
        assertFalse(regions.isEmpty());
        regions.revokeOf(GUEST::equals);
        assertTrue(regions.isEmpty());
    }
}
