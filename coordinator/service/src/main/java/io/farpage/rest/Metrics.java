package io.farpage.rest;

import io.prometheus.metrics.config.EscapingScheme;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.expositionformats.PrometheusTextFormatWriter;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.ByteArrayOutputStream;
import java.io.IOException;

/** The metrics of one service, in a registry of its own. Thread-safe. */
public final class Metrics {

    private final PrometheusRegistry registry = new PrometheusRegistry();
    private final PrometheusTextFormatWriter writer = PrometheusTextFormatWriter.create();
    private final Counter requests;

    /**
     * Makes the registry with the metrics that every service has.
     *
     * @param prefix what their names begin with, such as {@code farpage_coordinator}
     */
    public Metrics(String prefix) {
        requests = Counter.builder()
                .name(prefix + "_http_requests_total")
                .help("HTTP requests answered, by route and status")
                .labelNames("method", "route", "status")
                .register(registry);
    }

    /** Where a service registers its own. */
    public PrometheusRegistry registry() {
        return registry;
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
