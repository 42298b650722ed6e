package io.farpage.config;

import java.util.List;
import java.util.Map;

/** A whole and valid configuration. Immutable; any thread may read it. */
public final class Config {

    private final Map<Key<?>, Setting<?>> settings;

    private final List<String> warnings;

    Config(Map<Key<?>, Setting<?>> settings, List<String> warnings) {
        this.settings = Map.copyOf(settings);
        this.warnings = List.copyOf(warnings);
    }

    /**
     * The value of a key.
     *
     * @throws IllegalArgumentException if the key is not of the schema that this was read by, which is a programming
     *     error
     */
    @SuppressWarnings("unchecked") // Schema.load is the only writer and pairs each key with a value of its own type
    public <T> T get(Key<T> key) {
        return (T) setting(key).value();
    }

    /** Where the value of a key came from, such as {@code default}, {@code file /etc/a.yaml}. */
    public String origin(Key<?> key) {
        return setting(key).origin();
    }

    /** Whether a key was set at all, by file, environment or flag. */
    public boolean isSet(Key<?> key) {
        return !origin(key).equals(Setting.DEFAULT);
    }

    /**
     * What is odd but no error, one line each: variables of the environment that are probably another farpage
     * program's.
     */
    public List<String> warnings() {
        return warnings;
    }

    private Setting<?> setting(Key<?> key) {
        Setting<?> setting = settings.get(key);
        if (setting == null) {
            throw new IllegalArgumentException("key " + key + " is not in this schema");
        }
        return setting;
    }

    /** A value and its origin. */
    record Setting<T>(T value, String origin) {
        static final String DEFAULT = "default";
    }
}
