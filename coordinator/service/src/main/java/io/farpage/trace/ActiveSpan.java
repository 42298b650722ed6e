package io.farpage.trace;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/** A span that has not ended. Used by one thread at a time. */
public final class ActiveSpan {
    private final Tracer tracer;
    private final TraceContext context;
    private final long parent;
    private final Span.Kind kind;
    private final long startEpoch = Tracer.epochNanos();
    private final long start = System.nanoTime();
    private final Map<String, Object> attributes = new LinkedHashMap<>();
    private String name;
    private Optional<String> error = Optional.empty();

    ActiveSpan(Tracer tracer, TraceContext context, long parent, String name, Span.Kind kind) {
        this.tracer = tracer;
        this.context = context;
        this.parent = parent;
        this.name = name;
        this.kind = kind;
    }

    /** For the header of a request, and for {@link Tracer#within}. */
    public TraceContext context() {
        return context;
    }

    /** Names it anew. */
    public void rename(String to) {
        name = to;
    }

    /**
     * Describes it.
     *
     * @param value {@link String} or {@link Long}
     */
    public void attribute(String key, Object value) {
        attributes.put(key, value);
    }

    /** It has failed. */
    public void fail(String reason) {
        error = Optional.of(reason);
    }

    /** Ends and records it. */
    public void end() {
        long nanos = System.nanoTime() - start;
        tracer.record(
                new Span(context, parent, name, kind, startEpoch, startEpoch + nanos, Map.copyOf(attributes), error));
    }
}
