package io.farpage.rest;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** Writes the OpenAPI 3.1 document of a service from its operations and the records they exchange. */
final class OpenApi {

    private static final Pattern PARAMETER = Pattern.compile("\\{([a-zA-Z]+)}");

    private OpenApi() {}

    static JsonNode document(String service, String version, List<Operation<?, ?>> operations) {
        JsonSchemas schemas = new JsonSchemas();
        ObjectNode root = Json.STRICT.createObjectNode().put("openapi", "3.1.0");
        root.putObject("info").put("title", "farpage " + service).put("version", version);
        ObjectNode paths = root.putObject("paths");
        Map<String, List<Operation<?, ?>>> byPath = new TreeMap<>();
        for (Operation<?, ?> operation : operations) {
            byPath.computeIfAbsent(operation.path(), _ -> new ArrayList<>()).add(operation);
        }
        byPath.forEach((path, of) -> {
            ObjectNode item = paths.putObject(path);
            of.forEach(one -> describe(one, item.putObject(method(one)), schemas));
        });
        ObjectNode self = paths.putObject("/openapi.json").putObject("get").put("summary", "This document");
        self.put("operationId", "getOpenapiJson");
        self.putObject("responses").putObject("200").put("description", "the document");
        schemas.of(Problem.class);
        root.putObject("components").set("schemas", schemas.components());
        return root;
    }

    private static String method(Operation<?, ?> operation) {
        return operation.method().name().toLowerCase(Locale.ROOT);
    }

    private static void describe(Operation<?, ?> operation, ObjectNode in, JsonSchemas schemas) {
        in.put("summary", operation.summary()).put("operationId", operationId(operation));
        var parameters = in.putArray("parameters");
        Matcher matcher = PARAMETER.matcher(operation.path());
        while (matcher.find()) {
            parameters
                    .addObject()
                    .put("name", matcher.group(1))
                    .put("in", "path")
                    .put("required", true)
                    .putObject("schema")
                    .put("type", "string");
        }
        for (Operation.Parameter parameter : operation.parameters()) {
            parameters
                    .addObject()
                    .put("name", parameter.name())
                    .put("in", place(parameter))
                    .put("required", parameter.required())
                    .put("description", parameter.doc())
                    .putObject("schema")
                    .put("type", "string");
        }
        operation
                .body()
                .ifPresent(type -> in.putObject("requestBody")
                        .put("required", true)
                        .putObject("content")
                        .putObject("application/json")
                        .set("schema", schemas.of(type)));
        ObjectNode responses = in.putObject("responses");
        ObjectNode success =
                responses.putObject(Integer.toString(operation.status())).put("description", "success");
        if (operation.answer().isPresent()) {
            success.putObject("content")
                    .putObject(operation.mediaType())
                    .set("schema", schemas.of(operation.answer().get()));
        } else if (operation.status() != 204) {
            success.putObject("content")
                    .putObject(operation.mediaType())
                    .putObject("schema")
                    .put("type", "string");
        }
        responses
                .putObject("default")
                .put("description", "a problem (RFC 9457)")
                .putObject("content")
                .putObject(Problem.MEDIA_TYPE)
                .set("schema", schemas.of(Problem.class));
    }

    private static String place(Operation.Parameter parameter) {
        return switch (parameter) {
            case Operation.QueryParameter _ -> "query";
            case Operation.HeaderParameter _ -> "header";
        };
    }

    private static String operationId(Operation<?, ?> operation) {
        StringBuilder id = new StringBuilder(method(operation));
        Arrays.stream(operation.path().split("[^a-zA-Z0-9]+"))
                .filter(word -> !word.isEmpty())
                .forEach(word ->
                        id.append(word.substring(0, 1).toUpperCase(Locale.ROOT)).append(word.substring(1)));
        return id.toString();
    }
}
