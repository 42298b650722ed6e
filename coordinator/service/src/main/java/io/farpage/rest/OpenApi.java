package io.farpage.rest;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** Writes the OpenAPI 3.1 document of a service from its routes and the records they exchange. */
final class OpenApi {

    private static final Pattern PARAMETER = Pattern.compile("\\{([a-zA-Z]+)}");

    private OpenApi() {}

    static JsonNode document(String service, String version, List<Route> routes) {
        JsonSchemas schemas = new JsonSchemas();
        ObjectNode root = Json.STRICT.createObjectNode().put("openapi", "3.1.0");
        root.putObject("info").put("title", "farpage " + service).put("version", version);
        ObjectNode paths = root.putObject("paths");
        Map<String, List<Route>> byPath = new TreeMap<>();
        for (Route route : routes) {
            byPath.merge(
                    route.path(),
                    List.of(route),
                    (a, b) -> java.util.stream.Stream.concat(a.stream(), b.stream())
                            .toList());
        }
        byPath.forEach((path, of) -> {
            ObjectNode item = paths.putObject(path);
            of.forEach(
                    route -> operation(item.putObject(route.method().name().toLowerCase(Locale.ROOT)), route, schemas));
        });
        ObjectNode self = paths.putObject("/openapi.json").putObject("get").put("summary", "This document");
        self.put("operationId", "getOpenapiJson");
        self.putObject("responses").putObject("200").put("description", "the document");
        schemas.of(Problem.class);
        root.putObject("components").set("schemas", schemas.components());
        return root;
    }

    private static void operation(ObjectNode operation, Route route, JsonSchemas schemas) {
        operation.put("summary", route.summary()).put("operationId", operationId(route));
        var parameters = operation.putArray("parameters");
        Matcher matcher = PARAMETER.matcher(route.path());
        while (matcher.find()) {
            parameters
                    .addObject()
                    .put("name", matcher.group(1))
                    .put("in", "path")
                    .put("required", true)
                    .putObject("schema")
                    .put("type", "string");
        }
        for (Route.Parameter parameter : route.parameters()) {
            parameters
                    .addObject()
                    .put("name", parameter.name())
                    .put("in", place(parameter))
                    .put("required", parameter.required())
                    .put("description", parameter.doc())
                    .putObject("schema")
                    .put("type", "string");
        }
        route.body()
                .ifPresent(type -> operation
                        .putObject("requestBody")
                        .put("required", true)
                        .putObject("content")
                        .putObject("application/json")
                        .set("schema", schemas.of(type)));
        ObjectNode responses = operation.putObject("responses");
        ObjectNode success =
                responses.putObject(Integer.toString(route.status())).put("description", "success");
        if (route.answer().isPresent()) {
            success.putObject("content")
                    .putObject(route.mediaType())
                    .set("schema", schemas.of(route.answer().get()));
        } else if (route.status() != 204) {
            success.putObject("content")
                    .putObject(route.mediaType())
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

    private static String place(Route.Parameter parameter) {
        return switch (parameter) {
            case Route.QueryParameter _ -> "query";
            case Route.HeaderParameter _ -> "header";
        };
    }

    private static String operationId(Route route) {
        StringBuilder id = new StringBuilder(route.method().name().toLowerCase(Locale.ROOT));
        Arrays.stream(route.path().split("[^a-zA-Z0-9]+"))
                .filter(word -> !word.isEmpty())
                .forEach(word ->
                        id.append(word.substring(0, 1).toUpperCase(Locale.ROOT)).append(word.substring(1)));
        return id.toString();
    }
}
