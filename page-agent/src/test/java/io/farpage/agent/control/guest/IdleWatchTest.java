package io.farpage.agent.control.guest;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** When a guest counts as idle, on a clock that the test moves. */
final class IdleWatchTest {
    private static final Duration STEP = Duration.ofSeconds(5);
    private static final Duration AFTER = Duration.ofSeconds(20);

    private final IdleWatch watch = new IdleWatch(AFTER);
    private long now;
    private long faults;
    private Duration processor = Duration.ofMinutes(3);

    private boolean pass(long moreFaults, Duration moreProcessor) {
        now += STEP.toNanos();
        faults += moreFaults;
        processor = processor.plus(moreProcessor);
        return watch.observe(now, faults, Optional.of(processor));
    }

    @Test
    void shouldBeIdleOnlyAfterTheWholeTime() {
        assertFalse(pass(0, Duration.ZERO));
        for (int i = 0; i < 3; i++) {
            assertFalse(pass(10, Duration.ofMillis(250)), "at the bounds of what is idle");
        }
        assertTrue(pass(10, Duration.ofMillis(250)));
    }

    @Test
    void shouldBeginAnewWhenGuestFaults() {
        assertFalse(pass(0, Duration.ZERO));
        assertFalse(pass(0, Duration.ZERO));
        assertFalse(pass(11, Duration.ZERO));
        for (int i = 0; i < 3; i++) {
            assertFalse(pass(0, Duration.ZERO));
        }
        assertTrue(pass(0, Duration.ZERO));
    }

    @Test
    void shouldBeginAnewWhenVmmComputesWithoutFaults() {
        for (int i = 0; i < 10; i++) {
            assertFalse(pass(0, Duration.ofMillis(251)));
        }
    }

    @Test
    void shouldNeverBeIdleWhenProcessorTimeIsUnknown() {
        for (int i = 0; i < 10; i++) {
            now += STEP.toNanos();
            assertFalse(watch.observe(now, 0, Optional.empty()));
        }
        assertFalse(pass(0, Duration.ZERO), "idle from now on");
    }

    @Test
    void shouldNeverBeIdleWhenPolicyIsOff() {
        IdleWatch off = new IdleWatch(Duration.ZERO);
        for (int i = 0; i < 10; i++) {
            now += Duration.ofDays(1).toNanos();
            assertFalse(off.observe(now, 0, Optional.of(Duration.ZERO)));
        }
    }
}
