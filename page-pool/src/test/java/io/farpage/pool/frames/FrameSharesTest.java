package io.farpage.pool.frames;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class FrameSharesTest {
    private final FrameShares shares = new FrameShares(16);

    @Test
    void shouldLetOnlyOwnerClaimAllFrames() {
        FrameShares.Share only = shares.open(1);
        assertTrue(only.claim(16));
        assertFalse(only.claim(17));
    }

    @Test
    void shouldGrantGuaranteedFramesWhenAnotherOwnerHasClaimedTheRest() {
        FrameShares.Share one = shares.open(1);
        FrameShares.Share other = shares.open(1);
        assertTrue(one.claim(0));
        assertTrue(one.claim(12));
        assertFalse(one.claim(13), "four are guaranteed to the other owner");
        assertTrue(other.claim(4));
        assertFalse(other.claim(5));
        assertTrue(one.claim(11));
        assertTrue(other.claim(5));
    }

    @Test
    void shouldGuaranteeLeastFramesToEachOfManyOwners() {
        FrameShares.Share last = shares.open(3);
        for (int owner = 0; owner < 9; owner++) {
            last = shares.open(3);
        }
        assertTrue(last.claim(3));
        assertFalse(last.claim(4));
    }

    @Test
    void shouldGiveFramesOfClosedOwnerToOthers() {
        FrameShares.Share one = shares.open(1);
        FrameShares.Share other = shares.open(1);
        assertTrue(other.claim(8));
        other.close();
        other.close();
        assertEquals(8, one.guaranteed());
        assertTrue(one.claim(16));
    }
}
