package io.farpage.agent.command;

import io.farpage.agent.config.AgentKeys;
import io.farpage.config.Config;
import io.farpage.config.Key;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options of commands that read the agent's configuration. */
final class ConfigOptions {
    @Option(
            names = "--config",
            paramLabel = "FILE",
            description = "YAML file with the configuration; config-reference lists the keys")
    private @Nullable Path file;

    @Option(
            names = "--set",
            paramLabel = "KEY=VALUE",
            description = "Set a configuration key; overrides file and environment; may be repeated")
    private final Map<String, String> flags = new LinkedHashMap<>();

    /** @throws io.farpage.config.ConfigException naming every value that is not valid */
    Config load() {
        return AgentKeys.SCHEMA.load(Optional.ofNullable(file), System.getenv(), flags);
    }

    /** The options as they were given, for another program with the same configuration. */
    List<String> arguments() {
        List<String> arguments = new ArrayList<>();
        if (file != null) {
            arguments.addAll(List.of("--config", file.toString()));
        }
        flags.forEach((key, value) -> arguments.addAll(List.of("--set", key + "=" + value)));
        return arguments;
    }

    /** Sets a key as {@code --set} does. */
    void set(Key<?> key, String value) {
        flags.put(key.name(), value);
    }
}
