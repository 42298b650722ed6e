package io.farpage.config;

import java.math.BigDecimal;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads and writes durations ({@code 30s}) and byte sizes ({@code 512MiB}) as people write them. */
public final class Quantities {

    private static final Pattern QUANTITY = Pattern.compile("(\\d{1,18}(?:\\.\\d{1,9})?)\\s*([A-Za-zµ]+)");
    private static final Map<String, Long> NANOS = new LinkedHashMap<>();
    private static final Map<String, Long> BYTES = new LinkedHashMap<>();

    static {
        NANOS.put("d", 86_400_000_000_000L);
        NANOS.put("h", 3_600_000_000_000L);
        NANOS.put("m", 60_000_000_000L);
        NANOS.put("s", 1_000_000_000L);
        NANOS.put("ms", 1_000_000L);
        NANOS.put("us", 1_000L);
        NANOS.put("ns", 1L);
        BYTES.put("tib", 1L << 40);
        BYTES.put("gib", 1L << 30);
        BYTES.put("mib", 1L << 20);
        BYTES.put("kib", 1L << 10);
        BYTES.put("b", 1L);
        BYTES.put("tb", 1_000_000_000_000L);
        BYTES.put("gb", 1_000_000_000L);
        BYTES.put("mb", 1_000_000L);
        BYTES.put("kb", 1_000L);
    }

    private Quantities() {}

    /**
     * Reads a duration.
     *
     * @param text a number and one of ns, us, ms, s, m, h, d
     * @throws IllegalArgumentException if it is anything else, or more than 292 years
     */
    public static Duration duration(String text) {
        return Duration.ofNanos(
                scaled(text.replace("µs", "us"), NANOS, "it has no unit, write for example 30s or 5ms"));
    }

    /**
     * Reads a number of bytes.
     *
     * @param text a number and one of B, KiB, MiB, GiB, TiB, KB, MB, GB, TB; a bare whole number is bytes
     * @throws IllegalArgumentException if it is anything else, or 2⁶³ bytes and more
     */
    public static long bytes(String text) {
        if (text.matches("\\d{1,18}")) {
            return Long.parseLong(text);
        }
        return scaled(text, BYTES, "it is not a size, write for example 512MiB");
    }

    /** Writes a duration in the largest unit that needs no fraction. */
    public static String format(Duration duration) {
        long nanos = duration.toNanos();
        if (nanos == 0) {
            return "0s";
        }
        return NANOS.entrySet().stream()
                .filter(unit -> nanos % unit.getValue() == 0)
                .findFirst()
                .map(unit -> nanos / unit.getValue() + unit.getKey())
                .orElse(nanos + "ns");
    }

    /** Writes a number of bytes in the largest binary unit that needs no fraction. */
    public static String formatBytes(long bytes) {
        if (bytes == 0) {
            return "0B";
        }
        int unit = Math.min(Long.numberOfTrailingZeros(bytes) / 10, 4);
        return (bytes >> (10 * unit)) + new String[] {"B", "KiB", "MiB", "GiB", "TiB"}[unit];
    }

    private static long scaled(String text, Map<String, Long> units, String otherwise) {
        Matcher matcher = QUANTITY.matcher(text.strip());
        if (!matcher.matches()) {
            throw new IllegalArgumentException(otherwise);
        }
        Long unit = units.get(matcher.group(2).toLowerCase(Locale.ROOT));
        if (unit == null) {
            throw new IllegalArgumentException("'" + matcher.group(2) + "' is not a unit");
        }
        try {
            return new BigDecimal(matcher.group(1))
                    .multiply(BigDecimal.valueOf(unit))
                    .longValueExact();
        } catch (ArithmeticException e) {
            throw new IllegalArgumentException("it is too large or not a whole number of the smallest unit", e);
        }
    }
}
