package io.farpage.coordinator.config;

import io.farpage.config.Config;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options that say where the configuration comes from. */
public final class ConfigOptions {

    @Option(
            names = {"-c", "--config"},
            paramLabel = "FILE",
            description = "YAML file with the configuration.")
    private @Nullable Path file;

    @Option(
            names = {"-D", "--set"},
            paramLabel = "KEY=VALUE",
            description = "Sets a configuration key, over file and environment; may be repeated.")
    private final Map<String, String> flags = new LinkedHashMap<>();

    public ConfigOptions() {}

    /** Sets a key for every later {@link #load}. */
    public void set(String key, String value) {
        flags.put(key, value);
    }

    /** The configuration, checked. */
    public Config load() {
        return Settings.check(Settings.SCHEMA.load(Optional.ofNullable(file), System.getenv(), flags));
    }
}
