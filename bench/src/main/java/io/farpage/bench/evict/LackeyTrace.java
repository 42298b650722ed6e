package io.farpage.bench.evict;

import io.farpage.guest.command.CommandException;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The pages that a program touches, as Valgrind's tool lackey prints them ({@code --trace-mem=yes}): a line for each
 * instruction, load and store, such as {@code  L 1ffeffe7e,8}. Pages are numbered in the order of their first touches,
 * as a kernel gives a guest's memory out. Touches of the 64 pages that were touched last are left out: no policy evicts
 * these.
 */
final class LackeyTrace {
    private static final int RECENT = 64;
    private static final int PAGE_SHIFT = 12;
    private static final int ADDRESS_AT = 3;
    private static final int HEX = 16;

    private LackeyTrace() {}

    /**
     * Reads touches of pages.
     *
     * @param from file, or a pipe such as {@code /dev/stdin}
     * @param most touches that are kept
     */
    static int[] read(Path from, int most) {
        int[] touched = new int[most];
        int count = 0;
        Map<Long, Integer> numbers = new HashMap<>();
        Map<Long, Boolean> recent = new LinkedHashMap<>(2 * RECENT, 0.75f, true) {
            @Override
            protected boolean removeEldestEntry(Map.Entry<Long, Boolean> eldest) {
                return size() > RECENT;
            }
        };
        long last = -1;
        try (BufferedReader lines = Files.newBufferedReader(from, StandardCharsets.ISO_8859_1)) {
            for (String line = lines.readLine(); line != null && count < most; line = lines.readLine()) {
                long page = page(line);
                if (page < 0 || page == last) {
                    continue;
                }
                last = page;
                if (recent.put(page, true) == null) {
                    touched[count++] = numbers.computeIfAbsent(page, _ -> numbers.size());
                }
            }
        } catch (IOException e) {
            throw new CommandException("--lackey " + from + ": " + e.getMessage());
        }
        if (count == 0) {
            throw new CommandException("--lackey " + from + ": no line is a touch of memory, such as ' L 1ffeffe7e,8';"
                    + " run valgrind with --tool=lackey --trace-mem=yes --log-file=FILE");
        }
        return Arrays.copyOf(touched, count);
    }

    /** The page that a line is of; -1 if it is none. */
    private static long page(String line) {
        int end = line.indexOf(',');
        if (end <= ADDRESS_AT || line.charAt(2) != ' ' || "ISLM ".indexOf(line.charAt(0)) < 0) {
            return -1;
        }
        try {
            return Long.parseUnsignedLong(line, ADDRESS_AT, end, HEX) >>> PAGE_SHIFT;
        } catch (NumberFormatException e) {
            return -1;
        }
    }
}
