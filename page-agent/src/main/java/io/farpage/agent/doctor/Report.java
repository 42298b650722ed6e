package io.farpage.agent.doctor;

import io.farpage.rest.Json;
import java.util.List;

/**
 * All findings, in the order of the checks.
 *
 * @param result the worst level
 */
public record Report(Level result, List<Line> lines) {
    private static final String RESET = "\u001b[0m";
    private static final int LEVEL_WIDTH = 6;

    static Report of(List<Line> lines) {
        Level worst = lines.stream().map(Line::level).max(Level::compareTo).orElse(Level.OK);
        return new Report(worst, List.copyOf(lines));
    }

    /** How many findings have this level. */
    public long count(Level level) {
        return lines.stream().filter(line -> line.level() == level).count();
    }

    /** For people: columns, below what is not right the command that mends it, and at the end a line of counts. */
    public String text(boolean colour) {
        int width =
                lines.stream().mapToInt(line -> line.subject().length()).max().orElse(0);
        StringBuilder text = new StringBuilder();
        for (Line line : lines) {
            String level = line.level().word();
            text.append(colour ? line.level().colour() + level + RESET : level)
                    .repeat(' ', LEVEL_WIDTH - level.length())
                    .append(line.subject())
                    .repeat(' ', width + 2 - line.subject().length())
                    .append(line.detail() + "\n");
            if (!line.fix().isEmpty()) {
                text.repeat(' ', LEVEL_WIDTH + width + 2).append("fix: " + line.fix() + "\n");
            }
        }
        return text + "%d ok, %d warn, %d fail%n".formatted(count(Level.OK), count(Level.WARN), count(Level.FAIL));
    }

    /**
     * For machines: {@code {"result", "ok", "warn", "fail", "lines": [{"id", "subject", "level", "detail", "fix"}]}}.
     */
    public String json() {
        List<Entry> entries = lines.stream()
                .map(line -> new Entry(line.id(), line.subject(), line.level().word(), line.detail(), line.fix()))
                .toList();
        return Json.STRICT
                .writerWithDefaultPrettyPrinter()
                .writeValueAsString(
                        new Document(result.word(), count(Level.OK), count(Level.WARN), count(Level.FAIL), entries));
    }

    private record Document(String result, long ok, long warn, long fail, List<Entry> lines) {}

    private record Entry(String id, String subject, String level, String detail, String fix) {}
}
