package io.farpage.rest;

import java.util.List;
import java.util.Optional;
import tools.jackson.databind.JsonNode;

/**
 * The OpenAPI document of a service, made when it is asked for first: a service that starts has no use for it.
 * Thread-safe.
 */
final class OpenApiDocument {
    private final String service;
    private final String version;
    private final List<Operation<?, ?>> operations;
    private Optional<JsonNode> document = Optional.empty();

    OpenApiDocument(String service, String version, List<Operation<?, ?>> operations) {
        this.service = service;
        this.version = version;
        this.operations = operations;
    }

    synchronized JsonNode get() {
        if (document.isEmpty()) {
            document = Optional.of(OpenApi.document(service, version, operations));
        }
        return document.get();
    }
}
