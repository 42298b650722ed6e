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
        assertEquals(LIMIT, parking.frames(LIMIT, 0));
        parking.park(KEEP);
        assertEquals(KEEP, parking.frames(LIMIT, 0));
        assertEquals(KEEP - 1, parking.frames(KEEP - 1, 0));
        assertEquals(KEEP + 2, parking.frames(LIMIT, 2));
        assertEquals(KEEP + 1, parking.frames(KEEP + 1, 2));
        parking.unpark();
        assertEquals(LIMIT, parking.frames(LIMIT, 0));
    }

    @Test
    void shouldEndWhenGuestTakesMorePagesThanItMayKeep() {
        parking.park(KEEP);
        fault(KEEP, 1);
        assertTrue(parking.isParked(), "the pages that an idle kernel needs come back");
        assertFalse(parking.takeEnd());
        fault(1, 1);
        assertFalse(parking.isParked());
        assertTrue(parking.takeEnd());
        assertFalse(parking.takeEnd(), "the notice is taken once");
    }

    /** A clock tick each 10 ms that touches five pages, which never stay. */
    @Test
    void shouldGoOnWhenIdleGuestFaultsAtItsTicks() {
        parking.park(KEEP);
        for (int tick = 0; tick < 10_000; tick++) {
            fault(5, 10);
            now += TimeUnit.MILLISECONDS.toNanos(10);
        }
        assertTrue(parking.isParked());
    }

    @Test
    void shouldEndWhenGuestFaultsFasterThanAnIdleOneForLong() {
        parking.park(KEEP);
        fault(3 * KEEP, 1200);
        assertTrue(parking.isParked());
        fault(3 * KEEP, 1200);
        assertFalse(parking.isParked());
    }

    @Test
    void shouldEndAsSoonAfterALongTimeOfRest() {
        parking.park(KEEP);
        fault(1, 1);
        now += TimeUnit.HOURS.toNanos(1);
        fault(KEEP + 1, 1);
        assertFalse(parking.isParked());
    }

    @Test
    void shouldCountAnewWhenParkedAgain() {
        parking.park(KEEP);
        fault(KEEP, 1);
        parking.unpark();
        parking.park(KEEP);
        assertFalse(parking.takeEnd(), "it is parked again");
        fault(KEEP, 1);
        assertTrue(parking.isParked());
    }

    @Test
    void shouldGiveNoNoticeWhenGuestWasNotParked() {
        parking.unpark();
        fault(10 * KEEP, 1);
        assertFalse(parking.takeEnd());
    }

    @Test
    void shouldEndAfterFewerFaultsWhenPagesAreLarge() {
        Parking large = new Parking(LARGE);
        large.park(Parking.leastPages(LARGE));
        for (int i = 0; i < Parking.leastPages(LARGE); i++) {
            large.onFault(i);
        }
        assertTrue(large.isParked());
        large.onFault(Parking.leastPages(LARGE));
        assertFalse(large.isParked());
    }
}
