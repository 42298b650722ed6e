package io.farpage.rest;

import java.util.List;
import java.util.Optional;
import tools.jackson.databind.JsonNode;

/**
 * The OpenAPI document of a service, made when it is asked for first: a service that starts has no use for it.
 * Thread-safe.
 */
final class OpenApiDocument {
    private final RestServer.Options options;
    private final List<Route> routes;
    private Optional<JsonNode> document = Optional.empty();

    OpenApiDocument(RestServer.Options options, List<Route> routes) {
        this.options = options;
        this.routes = routes;
    }

    synchronized JsonNode get() {
        if (document.isEmpty()) {
            document = Optional.of(OpenApi.document(options.service(), options.version(), routes));
        }
        return document.get();
    }
}
