package io.farpage.rest;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonValue;
import java.lang.reflect.GenericArrayType;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.time.Instant;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** JSON schemas of records, as Jackson writes them: one component for each record, named after it. */
final class JsonSchemas {

    private final ObjectNode components = Json.STRICT.createObjectNode();

    ObjectNode components() {
        return components;
    }

    JsonNode of(Type type) {
        return switch (type) {
            case Class<?> c when c.isArray() -> array(c.getComponentType());
            case Class<?> c when c == int.class || c == Integer.class || c == OptionalInt.class -> integer("int32");
            case Class<?> c when c == long.class || c == Long.class || c == OptionalLong.class -> integer("int64");
            case Class<?> c when c == double.class || c == Double.class -> node().put("type", "number");
            case Class<?> c when c == boolean.class || c == Boolean.class -> node().put("type", "boolean");
            case Class<?> c
            when c == Instant.class -> node().put("type", "string").put("format", "date-time");
            case Class<?> c when c.isEnum() -> choice(c);
            case Class<?> c when c.isRecord() && !isText(c) -> reference(c);
            case Class<?> c -> node().put("type", "string");
            case ParameterizedType p when p.getRawType() == Optional.class -> of(p.getActualTypeArguments()[0]);
            case ParameterizedType p
            when p.getRawType() == Map.class -> {
                ObjectNode map = node().put("type", "object");
                map.set("additionalProperties", of(p.getActualTypeArguments()[1]));
                yield map;
            }
            case ParameterizedType p -> array(p.getActualTypeArguments()[0]);
            case GenericArrayType g -> array(g.getGenericComponentType());
            default -> node();
        };
    }

    private JsonNode reference(Class<?> type) {
        String name = type.getDeclaringClass() == null
                ? type.getSimpleName()
                : type.getDeclaringClass().getSimpleName() + type.getSimpleName();
        if (!components.has(name)) {
            ObjectNode schema = components.putObject(name).put("type", "object");
            ObjectNode properties = schema.putObject("properties");
            ArrayNode required = Json.STRICT.createArrayNode();
            for (RecordComponent component : type.getRecordComponents()) {
                properties.set(component.getName(), of(component.getGenericType()));
                if (isRequired(component)) {
                    required.add(component.getName());
                }
            }
            if (!required.isEmpty()) {
                schema.set("required", required);
            }
        }
        return node().put("$ref", "#/components/schemas/" + name);
    }

    private static boolean isRequired(RecordComponent component) {
        JsonProperty property = component.getAccessor().getAnnotation(JsonProperty.class);
        return property != null && property.required();
    }

    private static boolean isText(Class<?> record) {
        return Arrays.stream(record.getDeclaredMethods())
                .anyMatch(method -> method.isAnnotationPresent(JsonValue.class));
    }

    private JsonNode array(Type element) {
        ObjectNode array = node().put("type", "array");
        array.set("items", of(element));
        return array;
    }

    private static ObjectNode integer(String format) {
        return node().put("type", "integer").put("format", format);
    }

    private static JsonNode choice(Class<?> type) {
        ObjectNode choice = node().put("type", "string");
        choice.set("enum", Json.STRICT.valueToTree(type.getEnumConstants()));
        return choice;
    }

    private static ObjectNode node() {
        return Json.STRICT.createObjectNode();
    }
}
