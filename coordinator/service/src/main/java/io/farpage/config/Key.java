package io.farpage.config;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * One configuration key. Keys compare by identity: define each once as a constant and list it in a {@link Schema}.
 *
 * @param <T> what the program gets
 */
public final class Key<T> {

    private final String name;
    private final ValueType<T> type;
    private final Optional<String> defaultText;
    private final T defaultValue;
    private final String doc;

    private Key(String name, ValueType<T> type, Optional<String> defaultText, T defaultValue, String doc) {
        if (!name.matches("[a-z][a-z0-9_]*(\\.[a-z][a-z0-9_]*)*")) {
            throw new IllegalArgumentException("'" + name + "' is not a key name: lower-case words joined by dots");
        }
        this.name = name;
        this.type = type;
        this.defaultText = defaultText;
        this.defaultValue = defaultValue;
        this.doc = doc;
    }

    /**
     * A key of any type.
     *
     * @param name lower-case words joined by dots, such as {@code rdma.gid_index}
     * @param defaultText what holds when nothing is configured; read by {@code type} at once, so a wrong default fails
     *     at start-up
     * @param doc what it does, for the reference page
     */
    public static <T> Key<T> of(String name, ValueType<T> type, String defaultText, String doc) {
        return new Key<>(name, type, Optional.of(defaultText), type.parse(defaultText), doc);
    }

    /** A key that may be left out, which the program sees as empty. */
    public static <T> Key<Optional<T>> optional(String name, ValueType<T> type, String doc) {
        ValueType<Optional<T>> wrapped =
                new Simple<>(type.name(), type.allowed(), text -> Optional.of(type.parse(text)));
        return new Key<>(name, wrapped, Optional.empty(), Optional.empty(), doc);
    }

    /** A text that is not empty. */
    public static Key<String> text(String name, String defaultText, String doc) {
        return of(name, ValueTypes.text(), defaultText, doc);
    }

    /** A whole number from {@code min} to {@code max}. */
    public static Key<Integer> integer(String name, int defaultValue, int min, int max, String doc) {
        return of(name, ValueTypes.integer(min, max), Integer.toString(defaultValue), doc);
    }

    /** True or false. */
    public static Key<Boolean> bool(String name, boolean defaultValue, String doc) {
        return of(name, ValueTypes.bool(), Boolean.toString(defaultValue), doc);
    }

    /** One constant of an enum. */
    public static <E extends Enum<E>> Key<E> choice(String name, E defaultValue, String doc) {
        String text = defaultValue.name().toLowerCase(Locale.ROOT).replace('_', '-');
        return of(name, ValueTypes.choice(defaultValue.getDeclaringClass()), text, doc);
    }

    /** A duration; default and bounds as written, such as {@code 30s}. */
    public static Key<Duration> duration(String name, String defaultText, String min, String max, String doc) {
        return of(name, ValueTypes.duration(Quantities.duration(min), Quantities.duration(max)), defaultText, doc);
    }

    /** A number of bytes; default and bounds as written, such as {@code 512MiB}. */
    public static Key<Long> bytes(String name, String defaultText, String min, String max, String doc) {
        return of(name, ValueTypes.bytes(Quantities.bytes(min), Quantities.bytes(max)), defaultText, doc);
    }

    /** A host and a port. */
    public static Key<HostPort> hostPort(String name, String defaultText, String doc) {
        return of(name, ValueTypes.hostPort(), defaultText, doc);
    }

    /** A TCP port, 0 to let the system choose. */
    public static Key<Integer> port(String name, int defaultValue, String doc) {
        return of(name, ValueTypes.port(), Integer.toString(defaultValue), doc);
    }

    /** A path. */
    public static Key<Path> path(String name, String defaultText, String doc) {
        return of(name, ValueTypes.path(), defaultText, doc);
    }

    /** A list of texts, empty or given with commas. */
    public static Key<List<String>> texts(String name, String defaultText, String doc) {
        return of(name, ValueTypes.listOf(ValueTypes.text()), defaultText, doc);
    }

    /** The name in YAML and on the command line. */
    public String name() {
        return name;
    }

    /** The name in the environment: {@code rdma.gid_index} is {@code FARPAGE_RDMA_GID_INDEX}. */
    public String environmentName() {
        return environmentName(name);
    }

    static String environmentName(String name) {
        return Schema.ENVIRONMENT_PREFIX + name.replace('.', '_').toUpperCase(Locale.ROOT);
    }

    /** How its text is read. */
    public ValueType<T> type() {
        return type;
    }

    /** What it does. */
    public String doc() {
        return doc;
    }

    /** The default as written, empty for a key that may be left out. */
    public Optional<String> defaultText() {
        return defaultText;
    }

    T defaultValue() {
        return defaultValue;
    }

    @Override
    public String toString() {
        return name;
    }
}
