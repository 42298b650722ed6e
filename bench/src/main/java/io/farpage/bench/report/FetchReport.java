package io.farpage.bench.report;

import java.util.List;

/**
 * All that one invocation found.
 *
 * @param runs the first one is the headline
 * @param leftOut what was not measured and why, a line each
 */
public record FetchReport(Subject subject, Conditions conditions, List<FetchRun> runs, List<String> leftOut) {
    public FetchReport {
        runs = List.copyOf(runs);
        leftOut = List.copyOf(leftOut);
        if (runs.isEmpty()) {
            throw new IllegalArgumentException("a report needs at least one run");
        }
        long names = runs.stream().map(run -> run.settings().name()).distinct().count();
        if (names != runs.size()) {
            throw new IllegalArgumentException("two runs of a report have the same name: "
                    + runs.stream().map(run -> run.settings().name()).toList());
        }
    }

    /** The figures of each run, in order. */
    public List<FetchResult> results() {
        return runs.stream().map(FetchResult::of).toList();
    }
}
