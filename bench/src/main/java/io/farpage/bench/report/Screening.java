package io.farpage.bench.report;

import java.util.List;

/**
 * Which rounds of a run count.
 *
 * @param asked how many were asked for
 * @param dropped the others that were run, a line each with the reason
 * @param judgedBy what tells that a round was disturbed, or why rounds are not judged
 */
public record Screening(int asked, List<String> dropped, String judgedBy) {
    public Screening {
        dropped = List.copyOf(dropped);
    }
}
