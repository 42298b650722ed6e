package io.farpage.agent.control.trace;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.pager.TracedFaults;
import io.farpage.agent.data.pager.memory.FaultTrace;
import io.farpage.trace.Span;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class FaultTracesTest {
    private final List<TracedPager> pagers = new ArrayList<>();
    private final List<Span> spans = new ArrayList<>();
    private final FaultTraces traces =
            new FaultTraces(new FaultTrace.Sampling(1, Long.MAX_VALUE), () -> List.copyOf(pagers), spans::add);

    @Test
    void shouldMakeASpanOfAFaultAndOfEachPhaseInTimeOrder() {
        TracedFaults faults = new TracedFaults();
        pagers.add(new TracedPager("demo", 1000, faults.counters()));
        traces.collect();
        long before = System.currentTimeMillis();
        long now = System.nanoTime();
        faults.record(7, now - 9_000, now - 4_000, now);
        traces.collect();
        assertEquals(
                List.of("fault", "fetch", "install"),
                spans.stream().map(Span::name).toList());
        Span fault = spans.getFirst();
        Span fetch = spans.get(1);
        Span install = spans.get(2);
        assertEquals(Map.of("farpage.space", "demo", "farpage.page", 1007L), fault.attributes());
        assertEquals(9_000, fault.endNanos() - fault.startNanos());
        assertEquals(fault.startNanos(), fetch.startNanos());
        assertEquals(5_000, fetch.endNanos() - fetch.startNanos());
        assertEquals(fetch.endNanos(), install.startNanos());
        assertEquals(fault.endNanos(), install.endNanos());
        assertEquals(fault.context().span(), fetch.parent());
        assertEquals(fault.context().span(), install.parent());
        assertEquals(0, fault.parent());
        assertEquals(fault.context().high(), install.context().high());
        assertTrue(Math.abs(fault.endNanos() / 1_000_000 - before) < 10_000, "since 1970");
    }

    @Test
    void shouldTakeTheLastFaultsOfAGuestThatHasEnded() {
        TracedFaults faults = new TracedFaults();
        pagers.add(new TracedPager("demo", 0, faults.counters()));
        traces.collect();
        faults.record(1, 1, 2, 3);
        pagers.clear();
        traces.collect();
        assertEquals(3, spans.size());
        faults.record(2, 1, 2, 3);
        traces.collect();
        assertEquals(3, spans.size(), "it is forgotten");
    }
}
