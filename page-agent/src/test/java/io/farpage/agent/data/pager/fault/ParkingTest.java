package io.farpage.agent.data.pager.fault;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Which faults end parking. */
final class ParkingTest {
    private static final int LIMIT = 10_000;
    private static final int KEEP = 256;
    private static final int WAKE_FAULTS = 64;
    private static final int LARGE = 2 << 20;

    private final Parking parking = new Parking(4096);
    private long now;

    private void fault(int times, long microsBetween) {
        for (int i = 0; i < times; i++) {
            now += TimeUnit.MICROSECONDS.toNanos(microsBetween);
            parking.onFault(now);
        }
    }

    @Test
    void shouldLowerLimitWhileParked() {
        assertEquals(LIMIT, parking.frames(LIMIT));
        parking.park(KEEP);
        assertEquals(KEEP, parking.frames(LIMIT));
        assertEquals(KEEP - 1, parking.frames(KEEP - 1));
        parking.unpark();
        assertEquals(LIMIT, parking.frames(LIMIT));
    }

    @Test
    void shouldEndWhenGuestFaultsOftenInShortTime() {
        parking.park(KEEP);
        fault(WAKE_FAULTS - 1, 10);
        assertTrue(parking.isParked());
        assertFalse(parking.takeEnd());
        fault(1, 10);
        assertFalse(parking.isParked());
        assertTrue(parking.takeEnd());
        assertFalse(parking.takeEnd(), "the notice is taken once");
    }

    /** A clock tick each 10 ms that touches five evicted pages. */
    @Test
    void shouldGoOnWhenIdleGuestFaultsNowAndThen() {
        parking.park(KEEP);
        for (int tick = 0; tick < 1000; tick++) {
            fault(5, 10);
            now += TimeUnit.MILLISECONDS.toNanos(10);
        }
        assertTrue(parking.isParked());
    }

    @Test
    void shouldCountAnewWhenParkedAgain() {
        parking.park(KEEP);
        fault(WAKE_FAULTS - 1, 10);
        parking.unpark();
        parking.park(KEEP);
        assertFalse(parking.takeEnd(), "it is parked again");
        fault(WAKE_FAULTS - 1, 10);
        assertTrue(parking.isParked());
    }

    @Test
    void shouldGiveNoNoticeWhenGuestWasNotParked() {
        parking.unpark();
        fault(10 * WAKE_FAULTS, 1);
        assertFalse(parking.takeEnd());
    }

    @Test
    void shouldEndAfterFewerFaultsWhenPagesAreLarge() {
        Parking large = new Parking(LARGE);
        large.park(Parking.leastPages(LARGE));
        for (int i = 0; i < 8; i++) {
            assertTrue(large.isParked());
            large.onFault(TimeUnit.MILLISECONDS.toNanos(i * 10L));
        }
        assertFalse(large.isParked());
    }
}
