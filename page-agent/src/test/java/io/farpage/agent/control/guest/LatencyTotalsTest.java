package io.farpage.agent.control.guest;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.HdrHistogram.SingleWriterRecorder;
import org.junit.jupiter.api.Test;

class LatencyTotalsTest {
    private final SingleWriterRecorder recorder = new SingleWriterRecorder(1_000_000, 3);
    private final LatencyTotals totals = new LatencyTotals(recorder);

    @Test
    void shouldTellWhatIsRecentFromTheTotalsWhicheverIsAskedForBetween() {
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
}
