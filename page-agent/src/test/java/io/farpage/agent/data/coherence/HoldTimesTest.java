package io.farpage.agent.data.coherence;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class HoldTimesTest {
    private final HoldTimes holds = new HoldTimes();
    private long now = 1_000;

    /** The page is granted and wanted again at once. Returns how long it is kept. */
    private long bounce() {
        now += 10_000_000;
        holds.granted(3, now);
        return holds.requested(3, now) - now;
    }

    @Test
    void shouldKeepAPageLongerEachTimeItBounces() {
        assertEquals(0, bounce());
        assertEquals(0, bounce());
        assertEquals(HoldTimes.FIRST_NANOS, bounce());
        for (int i = 0; i < HoldTimes.TOLERATED; i++) {
            bounce();
        }
        assertEquals(2 * HoldTimes.FIRST_NANOS, bounce());
        for (int i = 0; i < 100; i++) {
            bounce();
        }
        assertEquals(HoldTimes.LONGEST_NANOS, bounce());
    }

    @Test
    void shouldGiveUpAtOnceWhatWasKeptForLong() {
        for (int i = 0; i < HoldTimes.TOLERATED; i++) {
            bounce();
        }
        holds.granted(3, now);
        now += HoldTimes.SOON_NANOS;
        assertTrue(holds.requested(3, now) - now <= 0);
        holds.granted(3, now);
        assertEquals(0, holds.requested(3, now) - now, "it was forgotten that the page bounced");
    }

    @Test
    void shouldCountOneRequestForEachGrant() {
        holds.granted(3, now);
        for (int i = 0; i < 10; i++) {
            assertEquals(now, holds.requested(3, now));
        }
    }

    @Test
    void shouldKnowAPageThatHasJustCome() {
        holds.granted(3, now);
        assertTrue(holds.isFresh(3, now));
        assertFalse(holds.isFresh(4, now));
        assertFalse(holds.isFresh(3, now + HoldTimes.FIRST_NANOS));
        // Another page that takes its slot.
        holds.granted(3 + 1024, now);
        assertFalse(holds.isFresh(3, now));
        assertEquals(now, holds.requested(3, now));
    }
}
