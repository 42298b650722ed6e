package io.farpage.verbs.ibverbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

final class WrRingTest {
    private static final long FIRST = 1_000_000_000_000L;

    private final WrRing ring = new WrRing(3, FIRST);

    @Test
    void shouldFreeEverythingBeforeACompletion() {
        ring.add(10);
        ring.add(11);
        ring.add(12);
        assertEquals(0, ring.space());

        assertEquals(11, ring.complete(FIRST + 1));

        assertEquals(2, ring.space());
        assertFalse(ring.isOutstanding(FIRST));
        assertTrue(ring.isOutstanding(FIRST + 2));
    }

    @Test
    void shouldKeepIdsApartAcrossItsEnd() {
        for (int i = 0; i < 100; i++) {
            long sequence = ring.add(i);
            assertEquals(FIRST + i, sequence);
            assertEquals(i, ring.complete(sequence));
        }
        assertEquals(3, ring.space());
    }

    @Test
    void shouldDiscardRequestsThatWereNotPosted() {
        ring.add(1);
        ring.add(2);
        ring.discard(1);

        assertEquals(2, ring.space());
        assertFalse(ring.isOutstanding(FIRST + 1));
    }

    @Test
    void shouldDropSequencesFromBeforeAClear() {
        ring.add(1);
        ring.clear();
        ring.add(2);

        assertFalse(ring.isOutstanding(FIRST));
        assertTrue(ring.isOutstanding(FIRST + 1));
        assertEquals(2, ring.space());
    }
}
