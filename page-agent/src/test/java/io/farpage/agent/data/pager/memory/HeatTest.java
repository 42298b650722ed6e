package io.farpage.agent.data.pager.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class HeatTest {
    private long now;
    private final Heat heat = new Heat(2 * 512 + 7, () -> now);

    private void pass(int seconds, int faultsInSecond) {
        for (int second = 0; second < seconds; second++) {
            for (int fault = 0; fault < faultsInSecond; fault++) {
                heat.add(600);
            }
            now += TimeUnit.SECONDS.toNanos(1);
            heat.age();
        }
    }

    private long reported() {
        return heat.report().stream().mapToLong(Heat.Range::faults).sum();
    }

    @Test
    void shouldReportPagesOfEachBlockThatWasAskedFor() {
        heat.add(3);
        heat.add(1027);
        now += TimeUnit.SECONDS.toNanos(30);
        assertEquals(List.of(new Heat.Range(0, 512, 1), new Heat.Range(1024, 7, 1)), heat.report());
    }

    @Test
    void shouldReportTheFaultsOfAMinuteAtAnyTimeIfTheRateIsConstant() {
        pass(300, 100);
        for (int second = 0; second < 60; second++) {
            pass(1, 100);
            assertTrue(Math.abs(reported() - 6_000) < 200, () -> reported() + " faults a minute");
        }
    }

    @Test
    void shouldHalveWhatWasCountedEveryThirtySeconds() {
        pass(300, 100);
        long before = reported();
        pass(60, 0);
        assertEquals(before / 4.0, (double) reported(), before / 100.0);
        pass(600, 0);
        assertEquals(List.of(), heat.report());
    }

    @Test
    void shouldAgeByAllHalvingsThatAreDue() {
        pass(30, 1_000);
        now += TimeUnit.DAYS.toNanos(40);
        heat.age();
        assertEquals(List.of(), heat.report());
    }
}
