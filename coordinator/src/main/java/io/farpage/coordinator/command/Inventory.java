package io.farpage.coordinator.command;

import io.farpage.config.ConfigException;
import io.farpage.coordinator.model.ClusterRequest;
import io.farpage.coordinator.model.ExpectedNode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import tools.jackson.core.JacksonException;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.databind.JsonNode;
import tools.jackson.dataformat.yaml.YAMLMapper;

/**
 * Reads an inventory file: {@code cluster: NAME} and {@code nodes:}, a list of {@code id}, {@code hostname},
 * {@code address}.
 */
final class Inventory {

    private static final YAMLMapper YAML = YAMLMapper.builder()
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .build();

    private final Path file;
    private final List<String> problems = new ArrayList<>();

    private Inventory(Path file) {
        this.file = file;
    }

    /**
     * Reads and checks a file.
     *
     * @throws ConfigException with all its faults
     */
    static ClusterRequest read(Path file) {
        return new Inventory(file).read();
    }

    private ClusterRequest read() {
        if (!Files.isReadable(file)) {
            throw fault("inventory " + file + (Files.exists(file) ? " cannot be read" : " does not exist"));
        }
        JsonNode root;
        try {
            root = YAML.readTree(file.toFile());
        } catch (JacksonException e) {
            throw fault("inventory %s is not valid YAML: %s"
                    .formatted(file, e.getOriginalMessage().lines().findFirst().orElse("unreadable")));
        }
        if (!root.isObject()) {
            throw fault("inventory %s must have the keys cluster and nodes".formatted(file));
        }
        onlyKnown("", root, Set.of("cluster", "nodes"));
        Optional<String> name = text("", root, "cluster");
        if (name.isEmpty()) {
            problem("cluster: is missing; give the cluster a name");
        }
        List<ExpectedNode> nodes = new ArrayList<>();
        JsonNode list = root.path("nodes");
        if (!list.isArray() || list.isEmpty()) {
            problem("nodes: must be a list of at least one node");
        }
        for (int i = 0; i < list.size(); i++) {
            node("nodes[%d]".formatted(i), list.get(i)).ifPresent(nodes::add);
        }
        return checked(name, nodes);
    }

    private ClusterRequest checked(Optional<String> name, List<ExpectedNode> nodes) {
        Optional<ClusterRequest> request = Optional.empty();
        try {
            request = Optional.of(new ClusterRequest(name.orElse("unnamed"), nodes));
        } catch (IllegalArgumentException e) {
            problem(String.valueOf(e.getMessage()));
        }
        if (!problems.isEmpty()) {
            throw new ConfigException(problems);
        }
        return request.orElseThrow();
    }

    private Optional<ExpectedNode> node(String where, JsonNode node) {
        if (!node.isObject()) {
            problem(where + ": must have at least an id");
            return Optional.empty();
        }
        onlyKnown(where + ".", node, Set.of("id", "hostname", "address"));
        Optional<String> id = text(where + ".", node, "id");
        if (id.isEmpty()) {
            problem(where + ".id: is missing");
            return Optional.empty();
        }
        try {
            return Optional.of(new ExpectedNode(
                    id.get(), text(where + ".", node, "hostname"), text(where + ".", node, "address")));
        } catch (IllegalArgumentException e) {
            problem(where + ": " + e.getMessage());
            return Optional.empty();
        }
    }

    private Optional<String> text(String where, JsonNode parent, String name) {
        JsonNode value = parent.path(name);
        if (value.isMissingNode() || value.isNull()) {
            return Optional.empty();
        }
        if (value.isContainer()) {
            problem(where + name + ": must be a text");
            return Optional.empty();
        }
        return Optional.of(value.asString());
    }

    private void onlyKnown(String where, JsonNode node, Set<String> known) {
        for (Map.Entry<String, JsonNode> property : node.properties()) {
            if (!known.contains(property.getKey())) {
                problem("%s%s: is unknown; known are %s"
                        .formatted(
                                where,
                                property.getKey(),
                                String.join(", ", known.stream().sorted().toList())));
            }
        }
    }

    private void problem(String text) {
        problems.add("inventory %s: %s".formatted(file, text));
    }

    private static ConfigException fault(String text) {
        return new ConfigException(List.of(text));
    }
}
