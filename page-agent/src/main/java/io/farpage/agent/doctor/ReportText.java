package io.farpage.agent.doctor;

/** Writes a report for people: columns, and below what is not right the command that mends it. */
public final class ReportText {
    private static final String RESET = "\u001b[0m";
    private static final int LEVEL_WIDTH = 6;

    private ReportText() {}

    /** The report, ending with a line of counts. */
    public static String of(Report report, boolean colour) {
        int width = report.lines().stream()
                .mapToInt(line -> line.subject().length())
                .max()
                .orElse(0);
        StringBuilder text = new StringBuilder();
        for (Line line : report.lines()) {
            String level = line.level().word();
            text.append(colour ? colourOf(line.level()) + level + RESET : level)
                    .repeat(' ', LEVEL_WIDTH - level.length())
                    .append(line.subject())
                    .repeat(' ', width + 2 - line.subject().length())
                    .append(line.detail())
                    .append('\n');
            if (!line.fix().isEmpty()) {
                text.repeat(' ', LEVEL_WIDTH + width + 2)
                        .append("fix: ")
                        .append(line.fix())
                        .append('\n');
            }
        }
        return text.append("%d ok, %d warn, %d fail%n"
                        .formatted(report.count(Level.OK), report.count(Level.WARN), report.count(Level.FAIL)))
                .toString();
    }

    private static String colourOf(Level level) {
        return switch (level) {
            case OK -> "\u001b[32m";
            case WARN -> "\u001b[33m";
            case FAIL -> "\u001b[31m";
        };
    }
}
