package io.farpage.agent.data.pager.fault;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.farpage.agent.data.pager.memory.NoPins;
import io.farpage.agent.data.pager.memory.Pins;
import org.junit.jupiter.api.Test;

final class PinReserveTest {
    private static final int BASE_PAGE = 4096;
    private static final int LARGE_PAGE = 2 << 20;

    private boolean mayStall = true;
    private boolean stalled;

    private final Pins pins = new NoPins() {
        @Override
        public boolean mayStall() {
            return mayStall;
        }

        @Override
        public boolean isStalled() {
            return stalled;
        }
    };

    private final PinReserve reserve = new PinReserve(pins, 1 << 17, BASE_PAGE);

    @Test
    void shouldKeepSixteenthOfLimitFreeWhenVmmHasRing() {
        assertEquals(1500, reserve.below(1600));
        assertEquals(0, reserve.free(1600, 1500));
        assertEquals(30, reserve.free(1600, 1470));
    }

    @Test
    void shouldKeepAtMostFourMegabytesFreeWhenLimitIsLarge() {
        assertEquals(100_000 - 1024, reserve.below(100_000));
        assertEquals(100 - 2, new PinReserve(pins, 1000, LARGE_PAGE).below(100));
    }

    @Test
    void shouldKeepNothingFreeWhenVmmHasNoRing() {
        mayStall = false;
        assertEquals(1600, reserve.below(1600));
        assertEquals(100, reserve.free(1600, 1500));
    }

    @Test
    void shouldKeepNothingFreeWhenWholeGuestIsWithinLimit() {
        assertEquals(1 << 17, reserve.below(1 << 17));
    }

    @Test
    void shouldGiveReserveToFaultsWhenInspectionStalls() {
        stalled = true;
        assertEquals(8, reserve.free(1600, 1500));
        assertEquals(1, reserve.free(1600, 1599));
    }

    @Test
    void shouldNotExceedLimitWhenReserveIsUsedUp() {
        stalled = true;
        assertEquals(0, reserve.free(1600, 1600));
        assertEquals(-4, reserve.free(1600, 1604));
    }
}
