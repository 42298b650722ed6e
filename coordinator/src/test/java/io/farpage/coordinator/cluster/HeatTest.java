package io.farpage.coordinator.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.farpage.coordinator.model.HeatReport;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class HeatTest {
    private long now;
    private final Heat heat = new Heat(() -> now);

    private void report(HeatReport.Range... ranges) {
        heat.report(1, new HeatReport(List.of(ranges)));
    }

    @Test
    void shouldSumTheHeatOfAnExtentOverItsRanges() {
        report(new HeatReport.Range(0, 100, 50), new HeatReport.Range(100, 100, 10), new HeatReport.Range(300, 50, 7));
        assertEquals(67, heat.of(1, 0, 1000));
        assertEquals(30, heat.of(1, 50, 100), "half of both ranges");
        assertEquals(7, heat.of(1, 300, 50));
        assertEquals(0, heat.of(1, 200, 100));
        assertEquals(0, heat.of(2, 0, 1000));
    }

    @Test
    void shouldCountWhatIsLeftOfARangeByItsShare() {
        report(new HeatReport.Range(0, 100, 50));
        report(new HeatReport.Range(20, 60, 6));
        assertEquals(10 + 6 + 10, heat.of(1, 0, 100));
    }

    @Test
    void shouldCountARangeAsColdThatWasNotReportedForAMinute() {
        report(new HeatReport.Range(0, 100, 50));
        now += TimeUnit.SECONDS.toNanos(40);
        report(new HeatReport.Range(100, 100, 10));
        assertEquals(60, heat.of(1, 0, 200));
        now += TimeUnit.SECONDS.toNanos(21);
        assertEquals(10, heat.of(1, 0, 200));
        assertEquals(0, heat.of(1, 5));
        assertEquals(10, heat.of(1, 105));
    }
}
