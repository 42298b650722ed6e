package io.farpage.it.harness;

import com.google.gson.Gson;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import io.kubernetes.client.openapi.models.V1ConfigMap;
import io.kubernetes.client.openapi.models.V1DaemonSet;
import io.kubernetes.client.openapi.models.V1NetworkPolicy;
import io.kubernetes.client.openapi.models.V1PodDisruptionBudget;
import io.kubernetes.client.openapi.models.V1Service;
import io.kubernetes.client.openapi.models.V1ServiceAccount;
import io.kubernetes.client.openapi.models.V1StatefulSet;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;

/** Manifests of Kubernetes, and what its API allows in them. */
public final class Manifests {
    private Manifests() {}

    /** The objects of a file. */
    public static List<JsonObject> read(Path file) throws IOException {
        LoaderOptions options = new LoaderOptions();
        options.setAllowDuplicateKeys(false);
        List<JsonObject> objects = new ArrayList<>();
        try (BufferedReader text = Files.newBufferedReader(file)) {
            for (Object each : new Yaml(new SafeConstructor(options)).loadAll(text)) {
                objects.add(JsonParser.parseString(new Gson().toJson(each)).getAsJsonObject());
            }
        }
        return objects;
    }

    /**
     * Holds an object against the model that Kubernetes' Java client is generated with from the API's definition.
     *
     * @throws IllegalArgumentException naming a field that is unknown, missing or of another type
     */
    public static void validate(JsonObject object) {
        try {
            switch (field(object, "apiVersion") + " " + kind(object)) {
                case "v1 ConfigMap" -> V1ConfigMap.fromJson(object.toString());
                case "v1 Service" -> V1Service.fromJson(object.toString());
                case "v1 ServiceAccount" -> V1ServiceAccount.fromJson(object.toString());
                case "apps/v1 DaemonSet" -> V1DaemonSet.fromJson(object.toString());
                case "apps/v1 StatefulSet" -> V1StatefulSet.fromJson(object.toString());
                case "policy/v1 PodDisruptionBudget" -> V1PodDisruptionBudget.fromJson(object.toString());
                case "networking.k8s.io/v1 NetworkPolicy" -> V1NetworkPolicy.fromJson(object.toString());
                default ->
                    throw new IllegalArgumentException("no manifest may have " + field(object, "apiVersion") + " "
                            + kind(object) + "; add it to Manifests if it is right");
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (JsonParseException e) {
            throw new IllegalArgumentException(
                    "%s '%s': %s".formatted(kind(object), field(object, "metadata", "name"), e.getMessage()), e);
        }
    }

    public static String kind(JsonObject object) {
        return field(object, "kind");
    }

    /** Text at a path of names. */
    public static String field(JsonObject object, String... path) {
        return at(object, path).orElseThrow().getAsString();
    }

    /** The containers of the pods that an object makes; none for other objects. */
    public static List<JsonObject> containers(JsonObject object) {
        return at(object, "spec", "template", "spec", "containers")
                .map(Manifests::objects)
                .orElse(List.of());
    }

    /** Names of the volumes of such pods. */
    public static Set<String> volumes(JsonObject object) {
        Set<String> names = new HashSet<>();
        at(object, "spec", "template", "spec", "volumes")
                .ifPresent(all -> objects(all).forEach(volume -> names.add(field(volume, "name"))));
        at(object, "spec", "volumeClaimTemplates")
                .ifPresent(all -> objects(all).forEach(claim -> names.add(field(claim, "metadata", "name"))));
        return names;
    }

    /** Labels of such pods. */
    public static Optional<JsonObject> podLabels(JsonObject object) {
        return at(object, "spec", "template", "metadata", "labels").map(JsonElement::getAsJsonObject);
    }

    /** Which pods an object is for. */
    public static Optional<JsonObject> selector(JsonObject object) {
        return at(object, "spec", "selector", "matchLabels")
                .or(() -> kind(object).equals("Service") ? at(object, "spec", "selector") : Optional.empty())
                .or(() -> at(object, "spec", "podSelector", "matchLabels"))
                .map(JsonElement::getAsJsonObject);
    }

    public static List<String> texts(JsonArray array) {
        return array.asList().stream().map(JsonElement::getAsString).toList();
    }

    private static List<JsonObject> objects(JsonElement array) {
        return array.getAsJsonArray().asList().stream()
                .map(JsonElement::getAsJsonObject)
                .toList();
    }

    private static Optional<JsonElement> at(JsonObject object, String... path) {
        JsonElement now = object;
        for (String name : path) {
            if (!now.isJsonObject() || !now.getAsJsonObject().has(name)) {
                return Optional.empty();
            }
            now = now.getAsJsonObject().get(name);
        }
        return Optional.of(now);
    }
}
