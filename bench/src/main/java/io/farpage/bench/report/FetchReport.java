package io.farpage.bench.report;

import java.util.List;

/** All that one invocation found; the first run is the headline. */
public record FetchReport(Subject subject, Conditions conditions, List<FetchRun> runs) {
    public FetchReport {
        runs = List.copyOf(runs);
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
