package io.farpage.it.harness;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The two tables of refusals in docs/security.md: what a client gets at each port, and the line in the log of that
 * port's program.
 */
public final class DocumentedRefusals {
    private static final Path GUIDE = Path.of(System.getProperty("farpage.root"), "docs", "security.md");
    private static final String ANSWERS = "| attempt | "
            + Arrays.stream(Port.values()).map(DocumentedRefusals::word).collect(Collectors.joining(" | ")) + " |";
    private static final String LINES = "| attempt | at | line in the log |";
    private static final String NONE = "-";

    private DocumentedRefusals() {}

    /** The columns of the first table, in their order. */
    public enum Port {
        /** REST of the coordinator, over TLS. */
        COORDINATOR,
        /** REST of an agent, over TLS. */
        AGENT,
        /** REST of an agent, on its Unix socket. */
        SOCKET,
        /** The socket on which a VMM hands its memory over. */
        HANDOFF,
        /** Links over TCP. */
        LINK,
        /** Links over TCP of an agent with {@code link.encryption: require}. */
        ENCRYPTED
    }

    /**
     * An attempt at one port.
     *
     * @param attempt what is refused
     * @param answer what the client gets: a status, or words
     * @param line the whole line in the log, without its time, with the addresses and numbers of any cluster
     */
    public record Cell(String attempt, Port port, String answer, Pattern line) {
        /** Names the cell. */
        public String name() {
            return attempt + " at " + word(port);
        }

        @Override
        public String toString() {
            return name();
        }
    }

    private static String word(Port port) {
        return port.name().toLowerCase(java.util.Locale.ROOT);
    }

    /** All cells that are not {@code -}, row by row. */
    public static List<Cell> cells() {
        Map<String, Pattern> lines = lines();
        List<Cell> cells = new ArrayList<>();
        for (List<String> row : table(ANSWERS)) {
            for (Port port : Port.values()) {
                String answer = row.get(1 + port.ordinal());
                Pattern line = lines.remove(row.getFirst() + " at " + word(port));
                if (answer.equals(NONE) != (line == null)) {
                    throw new AssertionError("'%s' at %s: the answer is '%s', and the line in the log %s"
                            .formatted(row.getFirst(), word(port), answer, line == null ? "is missing" : line));
                }
                if (line != null) {
                    cells.add(new Cell(row.getFirst(), port, answer, line));
                }
            }
        }
        if (!lines.isEmpty()) {
            throw new AssertionError("lines without an answer: " + lines.keySet());
        }
        return cells;
    }

    private static Map<String, Pattern> lines() {
        Map<String, Pattern> lines = new LinkedHashMap<>();
        for (List<String> row : table(LINES)) {
            for (String port : row.get(1).split(", ")) {
                String cell = row.getFirst() + " at " + port;
                if (lines.put(cell, line(row.get(2))) != null) {
                    throw new AssertionError("two lines of " + cell);
                }
            }
        }
        return lines;
    }

    private static Pattern line(String documented) {
        String expression = Arrays.stream(documented.replaceAll("^`|`$", "").split("…", -1))
                .map(DocumentedRefusals::quoted)
                .collect(Collectors.joining(".*"));
        return Pattern.compile("WARN +\\S+ - " + expression + "$");
    }

    private static String quoted(String literal) {
        return Pattern.quote(literal)
                .replaceAll("10\\.0\\.0\\.\\d+", "\\\\E(127\\\\.0\\\\.0\\\\.\\\\d+|unix socket, user \\\\w+)\\\\Q")
                .replaceAll("0x[0-9a-f]+", "\\\\E0x[0-9a-f]+\\\\Q")
                .replaceAll("space vm1", "space \\\\E\\\\S+\\\\Q")
                .replaceAll("(link to |node ')x\\b", "$1\\\\E\\\\w\\\\Q")
                .replaceAll("memory-1", "memory-\\\\E\\\\d\\\\Q")
                .replaceAll("/run/vm1\\.sock", "\\\\E\\\\S+\\\\Q")
                .replaceAll("\\b(\\d+) (bytes had come|connections)", "\\\\E\\\\d+\\\\Q $2");
    }

    private static List<List<String>> table(String heading) {
        List<String> lines;
        try {
            lines = Files.readAllLines(GUIDE);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        int first = lines.indexOf(heading) + 2;
        if (first < 2) {
            throw new AssertionError(GUIDE + " has no table with '" + heading + "'");
        }
        int columns = heading.split("\\|").length - 1;
        return lines.subList(first, lines.size()).stream()
                .takeWhile(line -> line.startsWith("|"))
                .map(line -> row(line, columns))
                .toList();
    }

    private static List<String> row(String line, int columns) {
        List<String> cells =
                Arrays.stream(line.substring(1).split("\\|")).map(String::strip).toList();
        if (cells.size() != columns) {
            throw new AssertionError(columns + " columns are expected in " + line);
        }
        return cells;
    }
}
