package io.farpage.trace;

import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * Makes the spans of a process, and sends them to a collector. Thread-safe. There is one in a process, or none:
 * {@link #current}.
 */
public final class Tracer implements AutoCloseable {
    private static final long NANOS_PER_SECOND = 1_000_000_000L;
    private static final ScopedValue<TraceContext> CONTEXT = ScopedValue.newInstance();

    private static volatile @Nullable Tracer current;

    private final Exporter exporter;
    private final int oneIn;

    /**
     * How a process is traced.
     *
     * @param endpoint of the collector
     * @param service its name: {@code page-agent}
     * @param instance what tells it from others of its kind, such as the node's id; may be empty
     * @param oneIn sampling interval, at least 1: one in {@code oneIn} requests that begin a trace is traced
     */
    public record Options(URI endpoint, String service, String instance, int oneIn) {}

    private Tracer(Options options) {
        Map<String, Object> resource = new HashMap<>();
        resource.put("service.name", options.service());
        resource.put("service.namespace", "farpage");
        if (!options.instance().isEmpty()) {
            resource.put("service.instance.id", options.instance());
        }
        exporter = new Exporter(options.endpoint(), resource);
        oneIn = options.oneIn();
    }

    /** Begins to trace this process, in place of an earlier tracer. Closing the result ends it. */
    public static synchronized Tracer begin(Options options) {
        Tracer tracer = new Tracer(options);
        Tracer earlier = current;
        current = tracer;
        if (earlier != null) {
            earlier.close();
        }
        return tracer;
    }

    /** The tracer of this process; null while it is not traced. */
    public static @Nullable Tracer current() {
        return current;
    }

    /** What this thread does now, if it is traced. */
    public static Optional<TraceContext> context() {
        return CONTEXT.isBound() ? Optional.of(CONTEXT.get()) : Optional.empty();
    }

    /** Runs something as a part of a span. Only what runs on the same thread belongs to it. */
    public static <T, E extends Exception> T within(TraceContext span, ScopedValue.CallableOp<T, E> task) throws E {
        return ScopedValue.where(CONTEXT, span).call(task);
    }

    /**
     * Begins a span below what this thread does now, or the first one of a new trace.
     *
     * @return empty if it is not to be recorded
     */
    public Optional<ActiveSpan> start(String name, Span.Kind kind) {
        Optional<TraceContext> parent = context();
        return parent.isPresent() ? below(parent.get(), name, kind) : first(name, kind);
    }

    /** Begins a span below one of another process. */
    public Optional<ActiveSpan> below(TraceContext parent, String name, Span.Kind kind) {
        return parent.sampled()
                ? Optional.of(new ActiveSpan(this, parent.child(), parent.span(), name, kind))
                : Optional.empty();
    }

    private Optional<ActiveSpan> first(String name, Span.Kind kind) {
        return oneIn == 1 || ThreadLocalRandom.current().nextInt(oneIn) == 0
                ? Optional.of(new ActiveSpan(this, TraceContext.root(), 0, name, kind))
                : Optional.empty();
    }

    /** Records a span that has ended. Never waits; drops it if too many are queued. */
    public void record(Span span) {
        exporter.offer(span);
    }

    /** Nanoseconds since 1970. */
    public static long epochNanos() {
        Instant now = Instant.now();
        return now.getEpochSecond() * NANOS_PER_SECOND + now.getNano();
    }

    /** Spans that the collector took. */
    public long exported() {
        return exporter.exported();
    }

    /** Spans that were dropped, because the collector did not take them in time. */
    public long dropped() {
        return exporter.dropped();
    }

    /** Sends what is queued, for so long at most, and ends tracing. */
    public void close(Duration atMost) {
        synchronized (Tracer.class) {
            if (current == this) {
                current = null;
            }
        }
        exporter.close(atMost);
    }

    @Override
    public void close() {
        close(Duration.ofSeconds(1));
    }
}
