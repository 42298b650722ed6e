package io.farpage.trace;

import io.farpage.config.Config;
import io.farpage.config.Key;
import io.farpage.config.ValueTypes;
import java.net.URI;
import java.util.List;
import java.util.Optional;

/** The configuration keys of traces that every farpage service has. */
public final class TraceKeys {
    private static final String NAME = "trace.otlp.endpoint";
    static final String FORM = "https?://[^/?#\\s]+(/[^?#\\s]*)?";
    static final String ALLOWED = "an http or https URL, such as http://127.0.0.1:4318";

    /** Where spans go. */
    public static final Key<Optional<String>> ENDPOINT = Key.optional(
            NAME,
            ValueTypes.matching(FORM, ALLOWED),
            "OpenTelemetry collector that traces are sent to, as OTLP over HTTP: `/v1/traces` is added to a URL without"
                    + " a path. No traces if left out. Commands take it from the environment.");

    /** Sampling of requests. */
    public static final Key<Integer> REQUESTS = Key.integer(
            "trace.requests.one_in",
            1,
            1,
            1_000_000_000,
            "Sampling interval: one in this number of requests that begin a trace in this program is traced. A request"
                    + " that comes with a `traceparent` follows that.");

    /** All of them, in the order of the reference page. */
    public static final List<Key<?>> ALL = List.of(ENDPOINT, REQUESTS);

    private TraceKeys() {}

    /**
     * Begins to trace a service, if that is configured.
     *
     * @param instance what tells it from others of its kind; may be empty
     */
    public static Optional<Tracer> begin(Config config, String service, String instance) {
        return config.get(ENDPOINT)
                .map(endpoint -> Tracer.begin(
                        new Tracer.Options(URI.create(endpoint), service, instance, config.get(REQUESTS))));
    }
}
