package io.farpage.config;

import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;

/** The value types that keys are made of; a program may add its own with {@link #of}. */
public final class ValueTypes {

    private ValueTypes() {}

    /** A type made of the three parts of {@link ValueType}. */
    public static <T> ValueType<T> of(String name, String allowed, Function<String, T> parser) {
        return new Simple<>(name, allowed, parser);
    }

    /** Any text that is not empty. */
    public static ValueType<String> text() {
        return new Simple<>("text", "any text that is not empty", text -> {
            if (text.isBlank()) {
                throw new IllegalArgumentException("it is empty");
            }
            return text;
        });
    }

    /** Text that matches a regular expression, which the reader is told in words. */
    public static ValueType<String> matching(String regex, String allowed) {
        return new Simple<>("text", allowed, text -> {
            if (!text.matches(regex)) {
                throw new IllegalArgumentException("");
            }
            return text;
        });
    }

    /** A whole number from {@code min} to {@code max}. */
    public static ValueType<Integer> integer(int min, int max) {
        return new Simple<>("integer", range("a whole number", min, max), text -> (int) parseLong(text, min, max));
    }

    /** {@code true} or {@code false}. */
    public static ValueType<Boolean> bool() {
        return new Simple<>("boolean", "true or false", text -> switch (text.toLowerCase(Locale.ROOT)) {
            case "true" -> true;
            case "false" -> false;
            default -> throw new IllegalArgumentException("");
        });
    }

    /** One of the constants of an enum, written in lower case with {@code -} or {@code _} for the underscore. */
    public static <E extends Enum<E>> ValueType<E> choice(Class<E> type) {
        List<E> constants = Arrays.asList(type.getEnumConstants());
        String allowed = constants.stream().map(ValueTypes::word).collect(Collectors.joining(", ", "one of ", ""));
        return new Simple<>(
                "choice",
                allowed,
                text -> constants.stream()
                        .filter(constant -> word(constant)
                                .equals(text.toLowerCase(Locale.ROOT).replace('_', '-')))
                        .findFirst()
                        .orElseThrow(() -> new IllegalArgumentException("")));
    }

    /** A length of time with its unit, such as {@code 30s} or {@code 5ms}, from {@code min} to {@code max}. */
    public static ValueType<Duration> duration(Duration min, Duration max) {
        String allowed = "a duration from %s to %s, as a number and one of ns, us, ms, s, m, h, d"
                .formatted(Quantities.format(min), Quantities.format(max));
        return new Simple<>("duration", allowed, text -> {
            Duration value = Quantities.duration(text);
            if (value.compareTo(min) < 0 || value.compareTo(max) > 0) {
                throw new IllegalArgumentException("it is out of range");
            }
            return value;
        });
    }

    /** A number of bytes, such as {@code 512MiB}, from {@code min} to {@code max}. */
    public static ValueType<Long> bytes(long min, long max) {
        String allowed = "a size from %s to %s, as a number and one of B, KiB, MiB, GiB, TiB (or KB, MB, GB, TB)"
                .formatted(Quantities.formatBytes(min), Quantities.formatBytes(max));
        return new Simple<>("size", allowed, text -> {
            long value = Quantities.bytes(text);
            if (value < min || value > max) {
                throw new IllegalArgumentException("it is out of range");
            }
            return value;
        });
    }

    /**
     * A host and a port, such as {@code 127.0.0.1:7400} or {@code [::1]:7400}; port 0 lets the system choose where it
     * is to listen.
     */
    public static ValueType<HostPort> hostPort() {
        return new Simple<>(
                "host:port", "host:port with a port from 0 to 65535, for example 127.0.0.1:7400", HostPort::parse);
    }

    /** A TCP port; 0 lets the system choose. */
    public static ValueType<Integer> port() {
        return new Simple<>(
                "port", "a port from 0 (the system chooses) to 65535", text -> (int) parseLong(text, 0, 65535));
    }

    /** A path of the file system, which need not exist. */
    public static ValueType<Path> path() {
        return new Simple<>("path", "a path of the file system", text -> {
            if (text.isBlank()) {
                throw new IllegalArgumentException("it is empty");
            }
            try {
                return Path.of(text);
            } catch (InvalidPathException e) {
                throw new IllegalArgumentException(e.getReason(), e);
            }
        });
    }

    /** A list: a YAML sequence, or one text with commas. */
    public static <T> ValueType<List<T>> listOf(ValueType<T> element) {
        return new Simple<>("list of " + element.name(), "a list, each " + element.allowed(), text -> {
            List<T> values = new ArrayList<>();
            for (String part : text.split(",")) {
                if (!part.isBlank()) {
                    values.add(element.parse(part.strip()));
                }
            }
            return List.copyOf(values);
        });
    }

    /** A value, or a word such as {@code auto} that stands for leaving the choice to the program. */
    public static <T> ValueType<Optional<T>> orWord(String word, ValueType<T> type) {
        return new Simple<>(
                type.name() + " or " + word,
                word + " or " + type.allowed(),
                text -> text.equalsIgnoreCase(word) ? Optional.empty() : Optional.of(type.parse(text)));
    }

    private static String word(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    private static String range(String what, long min, long max) {
        return "%s from %d to %d".formatted(what, min, max);
    }

    private static long parseLong(String text, long min, long max) {
        long value;
        try {
            value = Long.parseLong(text.replace("_", ""));
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException("it is not a whole number", e);
        }
        if (value < min || value > max) {
            throw new IllegalArgumentException("it is out of range");
        }
        return value;
    }
}
