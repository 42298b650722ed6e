package io.farpage.agent.data.pager.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class FaultTraceTest {
    private static final long SLOW = 1_000;

    private static List<Integer> pages(FaultTrace trace) {
        List<Integer> pages = new ArrayList<>();
        trace.drain((page, seenAt, arrivedAt, endedAt) -> pages.add(page));
        return pages;
    }

    @Test
    void shouldTakeOneInSoManyAndAllThatAreSlow() {
        FaultTrace trace = new FaultTrace(new FaultTrace.Sampling(3, SLOW));
        for (int page = 1; page <= 9; page++) {
            trace.record(page, 0, 1, page == 5 ? SLOW + 1 : SLOW);
        }
        assertEquals(List.of(3, 5, 6, 9), pages(trace));
        assertEquals(List.of(), pages(trace));
    }

    @Test
    void shouldTakeSlowFaultsAloneIfNoneAreCountedOut() {
        FaultTrace trace = new FaultTrace(new FaultTrace.Sampling(0, SLOW));
        trace.record(1, 10, 20, 30);
        trace.record(2, 10, 20, 11 + SLOW);
        List<Long> times = new ArrayList<>();
        trace.drain(
                (page, seenAt, arrivedAt, endedAt) -> times.addAll(List.of((long) page, seenAt, arrivedAt, endedAt)));
        assertEquals(List.of(2L, 10L, 20L, 11 + SLOW), times);
    }

    @Test
    void shouldCountWhatFindsNoRoom() {
        FaultTrace trace = new FaultTrace(new FaultTrace.Sampling(1, SLOW));
        for (int page = 0; page < 1500; page++) {
            trace.record(page, 0, 0, 0);
        }
        assertEquals(476, trace.dropped());
        List<Integer> pages = pages(trace);
        assertEquals(1024, pages.size());
        assertEquals(1023, pages.getLast());
        trace.record(7, 0, 0, 0);
        assertEquals(List.of(7), pages(trace));
    }

    /** The pager's thread records while another one takes out: no fault is seen twice, torn, or out of order. */
    @Test
    void shouldGiveEachFaultOnceToAnotherThread() throws Exception {
        FaultTrace trace = new FaultTrace(new FaultTrace.Sampling(1, SLOW));
        int count = 2_000_000;
        Thread pager = Thread.ofPlatform().start(() -> {
            for (int page = 0; page < count; page++) {
                trace.record(page, page, page + 1, page + 2);
            }
        });
        AtomicLong taken = new AtomicLong();
        AtomicLong last = new AtomicLong(-1);
        FaultTrace.Sink check = (page, seenAt, arrivedAt, endedAt) -> {
            assertTrue(page > last.get(), page + " after " + last);
            assertTrue(seenAt == page && arrivedAt == page + 1 && endedAt == page + 2, "torn");
            last.set(page);
            taken.incrementAndGet();
        };
        while (pager.isAlive()) {
            trace.drain(check);
        }
        pager.join();
        trace.drain(check);
        assertEquals(count, taken.get() + trace.dropped());
    }

    @Test
    void shouldAllocateNothingWhetherFaultsAreTracedOrNot() {
        PagerCounters off = new PagerCounters();
        PagerCounters on = new PagerCounters();
        FaultTrace trace = new FaultTrace(new FaultTrace.Sampling(1, SLOW));
        on.traceFaults(trace);
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        record(off, 20_000);
        record(on, 20_000);
        for (PagerCounters counters : List.of(off, on)) {
            long before = threads.getCurrentThreadAllocatedBytes();
            record(counters, 100_000);
            long bytes = threads.getCurrentThreadAllocatedBytes() - before;
            assertTrue(bytes < 10_000, bytes + " B in 100,000 faults");
        }
        assertTrue(trace.dropped() > 0, "faults were recorded");
    }

    private static void record(PagerCounters counters, int count) {
        for (int page = 0; page < count; page++) {
            counters.recordFault(page, 1, 2, 3);
        }
    }
}
