package io.farpage.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import io.farpage.agent.config.AgentKeys;
import io.farpage.config.Config;
import io.farpage.config.Schema;
import io.farpage.coordinator.config.Settings;
import io.farpage.it.harness.Manifests;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The manifests that are rendered from the chart, held against Kubernetes' own model of its API and against the
 * programs that they run. The system property farpage.manifests names a folder of others, as make test-kubernetes does
 * with what it renders.
 */
class KubernetesTest {
    private static final Path ROOT =
            Path.of(System.getProperty("farpage.root", "..")).toAbsolutePath().normalize();
    private static final Path FOLDER = Path.of(System.getProperty(
            "farpage.manifests", ROOT.resolve("packages/kubernetes/manifests").toString()));
    private static final long MIB = 1 << 20;

    @TempDir
    private Path directory = Path.of("");

    private static List<Path> files() throws IOException {
        try (Stream<Path> files = Files.list(FOLDER)) {
            List<Path> found = files.filter(file -> file.toString().endsWith(".yaml"))
                    .sorted()
                    .toList();
            assertTrue(!found.isEmpty(), () -> "there is no manifest in " + FOLDER);
            return found;
        }
    }

    @Test
    void shouldHaveAllRequiredAndNoUnknownKubernetesFields() throws IOException {
        for (Path file : files()) {
            for (JsonObject object : Manifests.read(file)) {
                Manifests.validate(object);
            }
        }
    }

    /** The check can fail. */
    @Test
    void shouldRefuseManifestWithWrongField() throws IOException {
        Path file = files().getFirst();
        for (String[] fault : new String[][] {
            {"podManagementPolicy:", "podManagmentPolicy:"},
            {"serviceName: ", "renamed: "},
            {"failureThreshold: 60", "failureThreshold: [60]"},
            {"clusterIP: None", "clusterIP: {}"}
        }) {
            String text = Files.readString(file);
            assertTrue(text.contains(fault[0]), () -> file + " has no " + fault[0]);
            Path broken = Files.writeString(directory.resolve("broken.yaml"), text.replace(fault[0], fault[1]));
            assertThrows(
                    IllegalArgumentException.class,
                    () -> Manifests.read(broken).forEach(Manifests::validate),
                    () -> fault[1] + " was taken");
        }
    }

    @Test
    void shouldGiveProgramsConfigurationsThatTheyAccept() throws IOException {
        for (Path file : files()) {
            List<JsonObject> objects = Manifests.read(file);
            for (JsonObject object : objects) {
                for (JsonObject container : Manifests.containers(object)) {
                    config(objects, container);
                }
            }
        }
    }

    /** The configuration of a container, read as its program reads it. */
    private Config config(List<JsonObject> objects, JsonObject container) throws IOException {
        List<String> arguments = Manifests.texts(container.getAsJsonArray("args"));
        String name = Path.of(arguments.getLast()).getFileName().toString();
        Schema schema = switch (arguments.getFirst()) {
            case "@coordinator" -> Settings.SCHEMA;
            case "@page-agent" -> AgentKeys.SCHEMA;
            default -> throw new AssertionError("no program: " + arguments);
        };
        String text = objects.stream()
                .filter(object -> Manifests.kind(object).equals("ConfigMap"))
                .map(object -> object.getAsJsonObject("data"))
                .filter(data -> data.has(name))
                .map(data -> data.get(name).getAsString())
                .findFirst()
                .orElseThrow();
        Path file = Files.writeString(directory.resolve(name), text);
        return schema.load(Optional.of(file), environment(container), Map.of());
    }

    /** As the kubelet makes it, of a pod on the node node-1 with the address 10.0.0.1. */
    private static Map<String, String> environment(JsonObject container) {
        Map<String, String> environment = new HashMap<>();
        for (JsonElement each : container.getAsJsonArray("env")) {
            JsonObject variable = each.getAsJsonObject();
            String value = variable.has("value")
                    ? variable.get("value").getAsString()
                    : switch (Manifests.field(variable, "valueFrom", "fieldRef", "fieldPath")) {
                        case "spec.nodeName" -> "node-1";
                        case "status.hostIP" -> "10.0.0.1";
                        case "metadata.name" -> "farpage-coordinator-0";
                        default -> throw new AssertionError(variable.toString());
                    };
            for (Map.Entry<String, String> before : environment.entrySet()) {
                value = value.replace("$(" + before.getKey() + ")", before.getValue());
            }
            assertTrue(!value.contains("$("), value);
            environment.put(variable.get("name").getAsString(), value);
        }
        return environment;
    }

    @Test
    void shouldReserveAsManyHugepagesAsThePoolNeeds() throws IOException {
        int pools = 0;
        for (Path file : files()) {
            List<JsonObject> objects = Manifests.read(file);
            for (JsonObject object : objects) {
                for (JsonObject container : Manifests.containers(object)) {
                    JsonObject limits = container.getAsJsonObject("resources").getAsJsonObject("limits");
                    if (!limits.has("hugepages-2Mi")) {
                        continue;
                    }
                    Config config = config(objects, container);
                    long pool = config.get(AgentKeys.POOL_EXPORTED) + config.get(AgentKeys.POOL_STAGING) + 2 * MIB;
                    assertEquals(pool / MIB + "Mi", limits.get("hugepages-2Mi").getAsString());
                    pools++;
                }
            }
        }
        assertTrue(pools > 0, "no manifest has hugepages");
    }

    @Test
    void shouldMountEachVolumeThatItNamesAndNameEachThatItMounts() throws IOException {
        for (Path file : files()) {
            for (JsonObject object : Manifests.read(file)) {
                List<JsonObject> containers = Manifests.containers(object);
                Set<String> mounted = new HashSet<>();
                for (JsonObject container : containers) {
                    container
                            .getAsJsonArray("volumeMounts")
                            .forEach(mount -> mounted.add(Manifests.field(mount.getAsJsonObject(), "name")));
                }
                if (!containers.isEmpty()) {
                    assertEquals(Manifests.volumes(object), mounted, file.toString());
                }
            }
        }
    }

    @Test
    void shouldSelectPodsThatAWorkloadHas() throws IOException {
        for (Path file : files()) {
            List<JsonObject> objects = Manifests.read(file);
            List<JsonObject> pods = new ArrayList<>();
            for (JsonObject object : objects) {
                Manifests.podLabels(object).ifPresent(pods::add);
            }
            for (JsonObject object : objects) {
                Manifests.selector(object)
                        .ifPresent(selector -> assertTrue(
                                pods.stream().anyMatch(pod -> pod.entrySet().containsAll(selector.entrySet())),
                                () -> file + ": no pod has the labels " + selector));
            }
        }
    }

    /** What is committed is what the chart says; helm is not everywhere, so make test-kubernetes alone can tell. */
    @Test
    void shouldBeWhatTheChartRenders() throws IOException {
        String rendered = System.getProperty("farpage.rendered", "");
        assumeTrue(!rendered.isEmpty(), "farpage.rendered names no rendered chart; run make test-kubernetes");
        assertEquals(
                Files.readString(Path.of(rendered)),
                Files.readString(ROOT.resolve("packages/kubernetes/manifests/farpage.yaml")),
                "the chart has changed; run make manifests");
    }
}
