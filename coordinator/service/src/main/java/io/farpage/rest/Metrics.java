package io.farpage.rest;

import io.farpage.audit.Audit;
import io.farpage.limit.RateLimits;
import io.farpage.trace.Tracer;
import io.prometheus.metrics.config.EscapingScheme;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.CounterWithCallback;
import io.prometheus.metrics.expositionformats.PrometheusTextFormatWriter;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.Locale;
import java.util.Optional;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.function.ToLongFunction;

/** The metrics of one service, in a registry of its own. Thread-safe. */
public final class Metrics {

    private final MetricCatalog registry = new MetricCatalog();
    private final PrometheusTextFormatWriter writer = PrometheusTextFormatWriter.create();
    private final Counter requests;
    private final String prefix;

    /**
     * Makes the registry with the metrics that every service has.
     *
     * @param prefix what their names begin with, such as {@code farpage_coordinator}
     */
    public Metrics(String prefix) {
        this.prefix = prefix;
        requests = Counter.builder()
                .name(prefix + "_http_requests_total")
                .help("HTTP requests answered, by route and status")
                .labelNames("method", "route", "status")
                .register(registry);
        watchTracer();
    }

    /** Where a service registers its own. */
    public PrometheusRegistry registry() {
        return registry;
    }

    MetricCatalog catalog() {
        return registry;
    }

    /**
     * Stands for a source of values where metrics are described and never scraped.
     *
     * @return a supplier that throws
     */
    public static <T> Supplier<T> undefined() {
        return () -> {
            throw new IllegalStateException("metrics that are only described have no values");
        };
    }

    /** Registers what a server adds that has the service's REST API, without values. */
    public void describeServer() {
        watchLimits(undefined());
        watchAudit(undefined());
    }

    /** Exports what the tracer of this process has sent and dropped; without a value while it is not traced. */
    private void watchTracer() {
        traced("_trace_spans_exported_total", "Spans that the collector of traces took", Tracer::exported);
        traced(
                "_trace_spans_dropped_total",
                "Spans that were dropped because the collector of traces did not take them in time",
                Tracer::dropped);
    }

    private void traced(String name, String help, ToLongFunction<Tracer> value) {
        CounterWithCallback.builder()
                .name(prefix + name)
                .help(help)
                .callback(callback -> Optional.ofNullable(Tracer.current())
                        .ifPresent(tracer -> callback.call((double) value.applyAsLong(tracer))))
                .register(registry);
    }

    /** Exports how many requests the limits have refused. */
    void watch(RateLimits limits) {
        watchLimits(() -> limits);
    }

    private void watchLimits(Supplier<RateLimits> limits) {
        CounterWithCallback.builder()
                .name(prefix + "_http_limited_total")
                .help("Requests refused with status 429, by limit: identity, address, authentication")
                .labelNames("limit")
                .callback(callback -> {
                    for (RateLimits.Limit limit : RateLimits.Limit.values()) {
                        callback.call(
                                (double) limits.get().refused(limit),
                                limit.name().toLowerCase(Locale.ROOT));
                    }
                })
                .register(registry);
    }

    /** Exports what the audit has written, counted and lost. */
    void watch(Audit audit) {
        watchAudit(() -> audit);
    }

    private void watchAudit(Supplier<Audit> audit) {
        counter(
                "audit_lines_total",
                "Lines written to the audit",
                () -> audit.get().written());
        counter(
                "audit_suppressed_total",
                "Refusals that the audit has counted instead of written",
                () -> audit.get().suppressed());
        counter(
                "audit_failures_total",
                "Attempts to write the audit that failed, and lines lost",
                () -> audit.get().failures());
    }

    private void counter(String name, String help, LongSupplier value) {
        CounterWithCallback.builder()
                .name(prefix + "_" + name)
                .help(help)
                .callback(callback -> callback.call((double) value.getAsLong()))
                .register(registry);
    }

    void count(String method, String route, int status) {
        requests.labelValues(method, route, Integer.toString(status)).inc();
    }

    String contentType() {
        return writer.getContentType();
    }

    byte[] scrape() throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        writer.write(out, registry.scrape(), EscapingScheme.DEFAULT);
        return out.toByteArray();
    }
}
