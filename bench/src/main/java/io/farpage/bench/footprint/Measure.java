package io.farpage.bench.footprint;

import java.util.Locale;

/** A figure of an agent: a column of a table, and a field of the JSON. */
enum Measure {
    PRIVATE("privateBytes", "private", Kind.BYTES),
    ALLOCATED("allocatedBytes", "allocated", Kind.BYTES),
    RSS("rssBytes", "rss", Kind.BYTES),
    PSS("pssBytes", "pss", Kind.BYTES),
    FILES("fileBytes", "files", Kind.BYTES),
    HEAP("heapBytes", "heap", Kind.BYTES),
    STACKS("stackBytes", "stacks", Kind.BYTES),
    BUFFERS("bufferBytes", "buffers", Kind.BYTES),
    USED("usedBytes", "used", Kind.BYTES),
    COMMITTED("committedBytes", "committed", Kind.BYTES),
    RESERVED("reservedBytes", "reserved", Kind.BYTES),
    THREADS("threads", "threads", Kind.COUNT),
    DESCRIPTORS("descriptors", "descriptors", Kind.COUNT),
    CPU("cpuMillisPerSecond", "cpu ms/s", Kind.COUNT),
    ALONE("aloneP50Ns", "alone", Kind.NANOS),
    BESIDE("besideP50Ns", "beside", Kind.NANOS),
    RATIO("ratioP50", "ratio", Kind.RATIO),
    LEAST("ratioLeast", "least", Kind.RATIO),
    MOST("ratioMost", "most", Kind.RATIO),
    ROUNDS("rounds", "rounds", Kind.COUNT);

    private static final double UNIT = 1024;

    private final String key;
    private final String label;
    private final Kind kind;

    private enum Kind {
        BYTES,
        COUNT,
        NANOS,
        RATIO
    }

    Measure(String key, String label, Kind kind) {
        this.key = key;
        this.label = label;
        this.kind = kind;
    }

    /** Its name in the JSON, with the unit. */
    String key() {
        return key;
    }

    /** Its name in a table. */
    String label() {
        return label;
    }

    /** A value as text. */
    String text(double value) {
        return switch (kind) {
            case BYTES -> bytes(value);
            case COUNT -> format(value == Math.rint(value) ? "%.0f" : "%.1f", value);
            case NANOS -> format("%.1f us", value / 1e3);
            case RATIO -> format("%.2f", value);
        };
    }

    private static String bytes(double value) {
        double size = Math.abs(value);
        if (size < UNIT) {
            return format(value == Math.rint(value) ? "%.0f B" : "%.2f B", value);
        }
        return size < UNIT * UNIT ? format("%.1f KiB", value / UNIT) : format("%.1f MiB", value / (UNIT * UNIT));
    }

    private static String format(String format, double value) {
        return String.format(Locale.ROOT, format, value);
    }
}
