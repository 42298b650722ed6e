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
    private final List<Operation<?, ?>> operations;
    private Optional<JsonNode> document = Optional.empty();

    OpenApiDocument(RestServer.Options options, List<Operation<?, ?>> operations) {
        this.options = options;
        this.operations = operations;
    }

    synchronized JsonNode get() {
        if (document.isEmpty()) {
            document = Optional.of(OpenApi.document(options.service(), options.version(), operations));
        }
        return document.get();
    }
}
