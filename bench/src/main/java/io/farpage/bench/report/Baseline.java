package io.farpage.bench.report;

import java.util.ArrayList;
import java.util.List;

/** What a run is compared with. */
public sealed interface Baseline {
    /**
     * Measured in rounds between those of the run.
     *
     * @param name of the program and its mode, as in {@code c-tcp-spin}
     * @param placement which CPUs it ran on
     * @param backing what its served memory was made of
     * @param rounds as many as the run has, in the same order
     */
    record Measured(String name, String placement, String backing, List<FetchRound> rounds) implements Baseline {
        public Measured {
            rounds = List.copyOf(rounds);
        }
    }

    /**
     * Measured in rounds between those of the run, by a program that reports its rate alone.
     *
     * @param name as of {@link Measured}
     * @param placement as of {@link Measured}
     * @param backing as of {@link Measured}
     * @param rounds as many as the run has, in the same order
     */
    record Rated(String name, String placement, String backing, List<Rate> rounds) implements Baseline {
        public Rated {
            rounds = List.copyOf(rounds);
        }
    }

    /**
     * A baseline of turns that are all alike.
     *
     * @param turns {@link FetchRound}s, or {@link Rate}s
     */
    static Baseline of(String name, String placement, String backing, List<Turn> turns) {
        List<FetchRound> rounds = new ArrayList<>();
        List<Rate> rates = new ArrayList<>();
        for (Turn turn : turns) {
            switch (turn) {
                case FetchRound round -> rounds.add(round);
                case Rate rate -> rates.add(rate);
            }
        }
        return rates.isEmpty()
                ? new Measured(name, placement, backing, rounds)
                : new Rated(name, placement, backing, rates);
    }

    /** Not measured, with the reason in a form to show: the run then has no ratio. */
    record Absent(String reason) implements Baseline {}
}
