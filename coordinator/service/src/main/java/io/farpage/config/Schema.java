package io.farpage.config;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** The keys of one program, in the order of its reference page. Immutable. */
public final class Schema {

    /** What names in the environment begin with. */
    public static final String ENVIRONMENT_PREFIX = "FARPAGE_";

    /** Variables with the prefix that launchers, client commands and tests use; no program's keys. */
    private static final List<String> NOT_KEYS =
            List.of("FARPAGE_JAVA", "FARPAGE_HOME", "FARPAGE_CONFIG", "FARPAGE_TEST", "FARPAGE_TOKEN", "FARPAGE_AGENT");

    private final String program;
    private final Map<String, Key<?>> keys = new LinkedHashMap<>();
    private final Map<String, Key<?>> byVariable = new HashMap<>();
    /** Names that were keys once, and what to do instead. */
    private final Map<String, String> retired;

    private Schema(String program, List<? extends Key<?>> keys, Map<String, String> retired) {
        this.program = program;
        this.retired = Map.copyOf(retired);
        for (Key<?> key : keys) {
            if (this.keys.put(key.name(), key) != null || byVariable.put(key.environmentName(), key) != null) {
                throw new IllegalArgumentException("key " + key + " is defined twice in the schema of " + program);
            }
        }
    }

    /** The keys of a program; each name once. */
    public static Schema of(String program, List<? extends Key<?>> keys) {
        return new Schema(program, keys, Map.of());
    }

    /**
     * The same keys, and names that are refused with a reason of their own.
     *
     * @param reasons former key → why it was removed and what replaces it
     */
    public Schema withRetired(Map<String, String> reasons) {
        return new Schema(program, List.copyOf(keys.values()), reasons);
    }

    /** The program's name. */
    public String program() {
        return program;
    }

    /** The keys in order. */
    public List<Key<?>> keys() {
        return List.copyOf(keys.values());
    }

    /**
     * Reads the configuration.
     *
     * @param file a YAML file, or empty for none
     * @param environment the process's environment; only names with {@link #ENVIRONMENT_PREFIX} matter
     * @param flags key to value, from the command line
     * @throws ConfigException with every fault found in any of the three
     */
    public Config load(Optional<Path> file, Map<String, String> environment, Map<String, String> flags) {
        List<String> problems = new ArrayList<>();
        List<String> warnings = new ArrayList<>();
        Map<Key<?>, Config.Setting<?>> settings = new HashMap<>();
        keys.values().forEach(key -> settings.put(key, defaultOf(key)));
        file.ifPresent(path -> new YamlFile(path, problems).read().forEach((name, text) -> {
            Key<?> key = keys.get(name);
            if (key == null) {
                problems.add(unknown("key " + name, "file " + path, name));
            } else {
                set(key, text, "file " + path, settings, problems);
            }
        }));
        new TreeMap<>(environment).forEach((variable, text) -> {
            if (variable.startsWith(ENVIRONMENT_PREFIX) && NOT_KEYS.stream().noneMatch(variable::startsWith)) {
                Key<?> key = byVariable.get(variable);
                if (key == null) {
                    (isOurs(variable) ? problems : warnings).add(unknownVariable(variable));
                } else {
                    set(key, text, "environment " + variable, settings, problems);
                }
            }
        });
        flags.forEach((name, text) -> {
            Key<?> key = keys.get(name.strip());
            if (key == null) {
                problems.add(unknown("key " + name, "command line", name));
            } else {
                set(key, text, "command line", settings, problems);
            }
        });
        if (!problems.isEmpty()) {
            throw new ConfigException(problems);
        }
        return new Config(settings, warnings);
    }

    /**
     * Whether a variable has the section of one of our keys. One environment may serve several programs, so that a
     * variable of a section we do not have is another's, and only worth a warning.
     */
    private boolean isOurs(String variable) {
        return byVariable.keySet().stream().anyMatch(known -> section(known).equals(section(variable)));
    }

    private static String section(String variable) {
        int end = variable.indexOf('_', ENVIRONMENT_PREFIX.length());
        return end < 0 ? variable : variable.substring(0, end);
    }

    private static <T> Config.Setting<T> defaultOf(Key<T> key) {
        return new Config.Setting<>(key.defaultValue(), Config.Setting.DEFAULT);
    }

    private static <T> void set(
            Key<T> key, String text, String origin, Map<Key<?>, Config.Setting<?>> settings, List<String> problems) {
        try {
            settings.put(key, new Config.Setting<>(key.type().parse(text.strip()), origin));
        } catch (IllegalArgumentException e) {
            String reason = e.getMessage() == null || e.getMessage().isEmpty() ? "" : e.getMessage() + "; ";
            problems.add("%s: '%s' from %s is not valid: %sallowed is %s"
                    .formatted(key.name(), text, origin, reason, key.type().allowed()));
        }
    }

    private String unknown(String what, String origin, String name) {
        String reason = retired.get(name.strip());
        if (reason != null) {
            return what + " from " + origin + " is no longer a key of " + program + ": " + reason;
        }
        return what + " from " + origin + " is not a key of " + program
                + Nearest.to(name, keys.keySet())
                        .map(near -> "; did you mean " + near + "?")
                        .orElse("; `" + program + " config-reference` lists them all");
    }

    private String unknownVariable(String variable) {
        for (Map.Entry<String, String> one : retired.entrySet()) {
            if (Key.environmentName(one.getKey()).equals(variable)) {
                return "variable " + variable + " from the environment is no longer a key of " + program + ": "
                        + one.getValue();
            }
        }
        return "variable " + variable + " from the environment is not a key of " + program
                + Nearest.to(variable, byVariable.keySet())
                        .map(near -> "; did you mean " + near + "?")
                        .orElse("; `" + program + " config-reference` lists them all");
    }
}
