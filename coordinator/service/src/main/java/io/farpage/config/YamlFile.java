package io.farpage.config;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import tools.jackson.core.JacksonException;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.databind.JsonNode;
import tools.jackson.dataformat.yaml.YAMLMapper;

/** A YAML file as a flat map: nested mappings become dotted keys, sequences of scalars become texts with commas. */
final class YamlFile {

    private static final YAMLMapper YAML = YAMLMapper.builder()
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .build();

    private final Path path;
    private final List<String> problems;
    private final Map<String, String> values = new LinkedHashMap<>();

    YamlFile(Path path, List<String> problems) {
        this.path = path;
        this.problems = problems;
    }

    Map<String, String> read() {
        if (!Files.isReadable(path)) {
            problems.add("file " + path + (Files.exists(path) ? " cannot be read" : " does not exist"));
            return values;
        }
        try {
            JsonNode root = YAML.readTree(path.toFile());
            if (root.isObject()) {
                flatten("", root);
            } else if (!root.isMissingNode() && !root.isNull()) {
                problems.add("file " + path + " is not a mapping of keys to values");
            }
        } catch (JacksonException e) {
            problems.add("file " + path + " is not valid YAML: "
                    + e.getOriginalMessage().lines().findFirst().orElse("unreadable")
                    + (e.getLocation() == null || e.getLocation().getLineNr() < 1
                            ? ""
                            : " (line " + e.getLocation().getLineNr() + ")"));
        }
        return values;
    }

    private void flatten(String prefix, JsonNode node) {
        for (Map.Entry<String, JsonNode> property : node.properties()) {
            String name = prefix + property.getKey();
            JsonNode value = property.getValue();
            if (value.isObject()) {
                flatten(name + ".", value);
            } else if (value.isArray()) {
                list(name, value);
            } else if (!value.isNull()) { // `key:` with nothing after it is the same as leaving it out
                put(name, value.asString());
            }
        }
    }

    private void list(String name, JsonNode array) {
        StringBuilder text = new StringBuilder();
        for (JsonNode element : array) {
            if (element.isContainer()) {
                problems.add(name + " from file " + path + " may only list plain values");
                return;
            }
            text.append(text.isEmpty() ? "" : ",").append(element.asString());
        }
        put(name, text.toString());
    }

    private void put(String name, String text) {
        if (values.put(name, text) != null) {
            problems.add(name + " is given twice in file " + path);
        }
    }
}
