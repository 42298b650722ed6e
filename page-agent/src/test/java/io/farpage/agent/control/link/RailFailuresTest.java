package io.farpage.agent.control.link;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.farpage.agent.control.link.RailPairs.Pair;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

final class RailFailuresTest {
    private static final Duration MEMORY = Duration.ofMinutes(5);
    private static final Map<Integer, String> TWO = Map.of(0, "ETHERNET", 1, "ETHERNET");
    private static final Map<Integer, String> ONE = Map.of(0, "ETHERNET");

    private final RailFailures failures = new RailFailures(MEMORY);

    @Test
    void shouldAvoidAPairThatFailedUntilItsTimeIsOver() {
        failures.failed(new Pair(1, 3), 100);
        assertEquals(Set.of(3), failures.avoided(1, 100 + MEMORY.toNanos()));
        assertEquals(Set.of(), failures.avoided(3, 100));
        assertEquals(Set.of(), failures.avoided(1, 101 + MEMORY.toNanos()));
    }

    @Test
    void shouldForgetOnceEveryPairHasFailed() {
        failures.failed(new Pair(0, 0), 0);
        failures.forgetIfNoneIsLeft(TWO, ONE, 0);
        assertEquals(Set.of(0), failures.avoided(0, 0), "rail 1 is left");
        failures.failed(new Pair(1, 0), 0);
        failures.forgetIfNoneIsLeft(TWO, ONE, 0);
        assertEquals(Set.of(), failures.avoided(0, 0));
        assertEquals(Set.of(), failures.avoided(1, 0));
    }

    @Test
    void shouldForgetNothingInAnAttemptWithoutRdma() {
        failures.failed(new Pair(0, 0), 0);
        failures.forgetIfNoneIsLeft(Map.of(), ONE, 0);
        assertEquals(Set.of(0), failures.avoided(0, 0));
    }

    @Test
    void shouldNotCountDevicesOfAnotherLinkLayerAsLeft() {
        failures.failed(new Pair(0, 0), 0);
        failures.forgetIfNoneIsLeft(Map.of(0, "ETHERNET", 1, "INFINIBAND"), ONE, 0);
        assertEquals(Set.of(), failures.avoided(0, 0));
    }
}
