package io.farpage.linux;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/**
 * Reads {@code /proc/self/smaps}, see {@code proc_pid_smaps(5)}. Walks page tables of the whole process: not for often.
 */
public final class Smaps {
    private Smaps() {}

    /**
     * How many bytes of the mappings that lie within the range are transparent hugepages; 0 if the kernel does not
     * report it.
     */
    public static long transparentHugeBytes(long address, long bytes) {
        return sum("AnonHugePages:", address, bytes);
    }

    /** How many bytes of the mappings that lie within the range are locked. */
    public static long lockedBytes(long address, long bytes) {
        return sum("Locked:", address, bytes);
    }

    private static long sum(String field, long address, long bytes) {
        try (Stream<String> lines = Files.lines(Path.of("/proc/self/smaps"))) {
            Reading reading = new Reading(field, address, address + bytes);
            lines.forEachOrdered(reading::accept);
            return reading.total;
        } catch (IOException e) {
            return 0;
        }
    }

    private static final class Reading {
        private final String field;
        private final long start;
        private final long end;
        private boolean inside;
        private long total;

        Reading(String field, long start, long end) {
            this.field = field;
            this.start = start;
            this.end = end;
        }

        void accept(String line) {
            int colon = line.indexOf(':');
            int dash = line.indexOf('-');
            if (dash > 0 && dash < line.indexOf(' ') && (colon < 0 || dash < colon)) {
                long from = Long.parseUnsignedLong(line, 0, dash, 16);
                long to = Long.parseUnsignedLong(line, dash + 1, line.indexOf(' '), 16);
                inside = from >= start && to <= end;
            } else if (inside && line.startsWith(field)) {
                total += Long.parseLong(line.replaceAll("\\D", "")) << 10;
            }
        }
    }
}
