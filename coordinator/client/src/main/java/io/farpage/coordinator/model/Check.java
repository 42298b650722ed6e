package io.farpage.coordinator.model;

import io.farpage.log.Printable;
import java.util.regex.Pattern;

/** The checks that the records share. */
final class Check {

    private static final Pattern NAME = Pattern.compile("[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?");
    private static final Pattern DIGITS = Pattern.compile("[0-9]+");
    private static final Pattern HEX16 = Pattern.compile("[0-9a-fA-F]{16}");
    private static final Pattern HEX32 = Pattern.compile("[0-9a-f]{32}");

    private Check() {}

    /** A node id or other name: 1 to 63 characters of a-z, 0-9, '.', '-', neither first nor last a '.' or '-'. */
    static String name(String field, String value) {
        if (!NAME.matcher(value).matches()) {
            throw new IllegalArgumentException(
                    ("%s: '%s' must be 1 to 63 characters of a-z, 0-9, '.' and '-', beginning and ending with a letter"
                                    + " or digit")
                            .formatted(field, value));
        }
        return value;
    }

    /** A space's name: as {@link #name}, and not all digits, since those are ids. */
    static String spaceName(String field, String value) {
        if (DIGITS.matcher(value).matches()) {
            throw new IllegalArgumentException("%s: '%s' must not be all digits".formatted(field, value));
        }
        return name(field, value);
    }

    static String notBlank(String field, String value) {
        return text(field, value, 255);
    }

    static String text(String field, String value, int longest) {
        if (value.isBlank() || value.length() > longest || !Printable.of(value).equals(value)) {
            throw new IllegalArgumentException(
                    "%s: '%s' must be 1 to %d printable characters".formatted(field, value, longest));
        }
        return value;
    }

    static void range(String field, long value, long min, long max) {
        if (value < min || value > max) {
            throw new IllegalArgumentException("%s: %d is not in %d..%d".formatted(field, value, min, max));
        }
    }

    static void pageSize(String field, int value) {
        if (value != 4096 && value != 2 * 1024 * 1024) {
            throw new IllegalArgumentException("%s: %d is not 4096 or 2097152".formatted(field, value));
        }
    }

    static long hex16(String field, String text) {
        if (!HEX16.matcher(text).matches()) {
            throw new IllegalArgumentException("%s: '%s' must be 16 hex digits".formatted(field, text));
        }
        return Long.parseUnsignedLong(text, 16);
    }

    static String hex32(String field, String text) {
        if (!HEX32.matcher(text).matches()) {
            throw new IllegalArgumentException("%s: '%s' must be 32 lower-case hex digits".formatted(field, text));
        }
        return text;
    }

    /** A decimal number from 0. */
    static long number(String field, String text) {
        if (text.length() > 18 || !DIGITS.matcher(text).matches()) {
            throw new IllegalArgumentException("%s: '%s' is not a number from 0".formatted(field, text));
        }
        return Long.parseLong(text);
    }

    static String hex16(long value) {
        return "%016x".formatted(value);
    }
}
