package io.farpage.agent.doctor;

import java.util.List;

/**
 * All findings, in the order of the checks.
 *
 * @param result the worst level
 */
public record Report(Level result, List<Line> lines) {
    static Report of(List<Line> lines) {
        Level worst = lines.stream().map(Line::level).max(Level::compareTo).orElse(Level.OK);
        return new Report(worst, List.copyOf(lines));
    }

    /** How many findings have this level. */
    public long count(Level level) {
        return lines.stream().filter(line -> line.level() == level).count();
    }
}
