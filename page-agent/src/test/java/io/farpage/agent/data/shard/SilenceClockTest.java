package io.farpage.agent.data.shard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

final class SilenceClockTest {
    private long now = 1_000_000_000;
    private final SilenceClock silence = new SilenceClock(() -> now);
    private final long start = silence.now();

    @Test
    void shouldCountShortStepsInFull() {
        for (int cycle = 0; cycle < 10; cycle++) {
            now += SilenceClock.MAX_STEP_NANOS;
            silence.advance();
        }
        assertEquals(10 * SilenceClock.MAX_STEP_NANOS, silence.now() - start);
    }

    @Test
    void shouldCountBoundOfLongStepOnly() {
        now += 100 * SilenceClock.MAX_STEP_NANOS;
        silence.advance();
        now += 1;
        silence.advance();
        assertEquals(SilenceClock.MAX_STEP_NANOS + 1, silence.now() - start);
    }

    @Test
    void shouldKnowForAWhileThatItsOwnerStoodStill() {
        now += SilenceClock.MAX_STEP_NANOS;
        silence.advance();
        assertFalse(silence.hasStoodStillWithin(1_000_000));
        now += SilenceClock.MAX_STEP_NANOS + 1;
        silence.advance();
        assertTrue(silence.hasStoodStillWithin(1_000_000));
        now += 999_999;
        silence.advance();
        assertTrue(silence.hasStoodStillWithin(1_000_000));
        now += 1;
        silence.advance();
        assertFalse(silence.hasStoodStillWithin(1_000_000));
    }

    @Test
    void shouldNotTakeASleepForStandingStillUnlessItLastsLonger() {
        silence.slept(500_000_000);
        now += 500_000_000 + SilenceClock.MAX_STEP_NANOS;
        silence.advance();
        assertFalse(silence.hasStoodStillWithin(1_000_000));
        silence.slept(500_000_000);
        now += 500_000_001 + SilenceClock.MAX_STEP_NANOS;
        silence.advance();
        assertTrue(silence.hasStoodStillWithin(1_000_000));
    }

    @Test
    void shouldGoOnWithinDutyCycleButNotBeyondTheNext() {
        now += 5;
        assertEquals(0, silence.now() - start);
        assertEquals(5, silence.read() - start);
        now += 100 * SilenceClock.MAX_STEP_NANOS;
        long read = silence.read();
        silence.advance();
        assertEquals(silence.now(), read);
    }
}
