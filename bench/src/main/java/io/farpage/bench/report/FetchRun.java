package io.farpage.bench.report;

import java.util.List;
import org.HdrHistogram.Histogram;

/**
 * One run: its settings, its rounds, those of its baseline, what a fetch took beside time, and which rounds those are.
 */
public record FetchRun(
        RunSettings settings, List<FetchRound> rounds, Baseline baseline, Cost cost, Screening screening) {
    public FetchRun {
        rounds = List.copyOf(rounds);
        if (rounds.isEmpty()) {
            throw new IllegalArgumentException(settings.name() + " has no rounds");
        }
        int turns = switch (baseline) {
            case Baseline.Measured measured -> measured.rounds().size();
            case Baseline.Rated rated -> rated.rounds().size();
            case Baseline.Absent absent -> rounds.size();
        };
        if (turns != rounds.size()) {
            throw new IllegalArgumentException(settings.name() + " has " + rounds.size() + " rounds, its baseline "
                    + turns + "; their rounds alternate, so both must have as many");
        }
    }

    /** The latencies of all of farpage's rounds together. */
    Histogram latencies() {
        return merged(rounds);
    }

    static Histogram merged(List<FetchRound> rounds) {
        Histogram all = FetchRound.newHistogram();
        rounds.forEach(round -> all.add(round.latencies()));
        return all;
    }
}
