package io.farpage.agent.control.trace;

import io.farpage.agent.control.ControlThread;
import io.farpage.agent.data.pager.memory.FaultTrace;
import io.farpage.agent.data.pager.memory.PagerCounters;
import io.farpage.trace.Span;
import io.farpage.trace.TraceContext;
import io.farpage.trace.Tracer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Makes spans of faults, ten times a second: the fault, from reading it to having woken the guest's thread, and below
 * it its phases, {@code fetch} and {@code install}. Pagers of new guests are found at such a moment, so the first
 * faults of a guest may be missing.
 */
public final class FaultTraces implements AutoCloseable {
    private static final Duration INTERVAL = Duration.ofMillis(100);
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(1);

    private final FaultTrace.Sampling sampling;
    private final Supplier<List<TracedPager>> pagers;
    private final Consumer<Span> sink;
    private final Map<PagerCounters, Traced> traced = new HashMap<>();
    private final ControlThread thread;
    private final AtomicLong droppedByEnded = new AtomicLong();
    private volatile List<FaultTrace> running = List.of();

    private record Traced(TracedPager pager, FaultTrace faults) {}

    /**
     * Prepares the traces of a process.
     *
     * @param pagers listed anew each time
     */
    public FaultTraces(Tracer tracer, FaultTrace.Sampling sampling, Supplier<List<TracedPager>> pagers) {
        this(sampling, pagers, tracer::record);
    }

    FaultTraces(FaultTrace.Sampling sampling, Supplier<List<TracedPager>> pagers, Consumer<Span> sink) {
        this.sampling = sampling;
        this.pagers = pagers;
        this.sink = sink;
        thread = ControlThread.ofPlatform(
                "fault-traces", new ControlThread.Pauses(Duration.ZERO, INTERVAL, CLOSE_TIMEOUT), this::step);
    }

    public void start() {
        thread.start();
    }

    private Duration step() {
        collect();
        return INTERVAL;
    }

    /** Makes spans of all faults that were put aside. */
    void collect() {
        Set<PagerCounters> listed = new HashSet<>();
        for (TracedPager pager : pagers.get()) {
            listed.add(pager.counters());
            traced.computeIfAbsent(pager.counters(), _ -> begin(pager));
        }
        long sinceEpoch = Tracer.epochNanos() - System.nanoTime();
        for (Traced one : List.copyOf(traced.values())) {
            one.faults()
                    .drain((page, seenAt, arrivedAt, endedAt) -> record(
                            one.pager(),
                            page,
                            new Times(sinceEpoch + seenAt, sinceEpoch + arrivedAt, sinceEpoch + endedAt)));
            if (!listed.contains(one.pager().counters())) {
                traced.remove(one.pager().counters());
                droppedByEnded.addAndGet(one.faults().dropped());
            }
        }
        List<FaultTrace> now = new ArrayList<>();
        traced.values().forEach(one -> now.add(one.faults()));
        running = now;
    }

    private Traced begin(TracedPager pager) {
        FaultTrace faults = new FaultTrace(sampling);
        pager.counters().traceFaults(faults);
        return new Traced(pager, faults);
    }

    /** Nanoseconds since 1970. */
    private record Times(long seen, long arrived, long ended) {}

    private void record(TracedPager pager, int page, Times at) {
        TraceContext fault = TraceContext.root();
        Map<String, Object> attributes =
                Map.of("farpage.space", pager.space(), "farpage.page", pager.firstPage() + page);
        sink.accept(span(fault, 0, "fault", at.seen(), at.ended(), attributes));
        sink.accept(span(fault.child(), fault.span(), "fetch", at.seen(), at.arrived(), Map.of()));
        sink.accept(span(fault.child(), fault.span(), "install", at.arrived(), at.ended(), Map.of()));
    }

    private static Span span(
            TraceContext context, long parent, String name, long start, long end, Map<String, Object> attributes) {
        return new Span(
                context, parent, name, Span.Kind.INTERNAL, start, Math.max(start, end), attributes, Optional.empty());
    }

    /** Faults selected for tracing that found the ring full and were dropped. Any thread. */
    public long dropped() {
        return droppedByEnded.get()
                + running.stream().mapToLong(FaultTrace::dropped).sum();
    }

    @Override
    public void close() {
        thread.close();
    }
}
