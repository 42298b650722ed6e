package io.farpage.agent.control.latency;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.HdrHistogram.SingleWriterRecorder;
import org.junit.jupiter.api.Test;

class LatencyTotalsTest {
    private final SingleWriterRecorder recorder = new SingleWriterRecorder(1_000_000, 3);
    private final LatencyTotals totals = new LatencyTotals(recorder);

    @Test
    void shouldKeepRecentFiguresApartFromTheTotals() {
        recorder.recordValue(1);
        assertEquals(1, totals.sample().getTotalCount());
        recorder.recordValue(2);
        assertEquals(2, totals.recent().getTotalCount(), "all, at the first call");
        recorder.recordValue(500_000);
        assertEquals(3, totals.sample().getTotalCount());
        recorder.recordValue(3);
        assertEquals(2, totals.recent().getTotalCount());
        assertEquals(0, totals.recent().getTotalCount());
        assertEquals(4, totals.sample().getTotalCount());
    }

    @Test
    void shouldGiveEachCallerItsOwnIntervals() {
        recorder.recordValue(10);
        LatencyTotals.Interval one = totals.interval();
        recorder.recordValue(20);
        LatencyTotals.Interval other = totals.interval();
        assertEquals(2, one.take().getTotalCount());
        recorder.recordValue(30);
        assertEquals(1, one.take().getTotalCount());
        assertEquals(3, other.take().getTotalCount());
        assertEquals(0, one.take().getTotalCount());
        assertEquals(0, other.take().getTotalCount());
        one.close();
        recorder.recordValue(40);
        assertEquals(1, other.take().getTotalCount());
        assertEquals(4, totals.sample().getTotalCount());
    }
}
