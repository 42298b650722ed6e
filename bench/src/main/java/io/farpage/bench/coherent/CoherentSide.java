package io.farpage.bench.coherent;

import io.farpage.bench.command.ComparedSide;
import io.farpage.bench.report.FetchRound;
import java.util.ArrayList;
import java.util.List;

/**
 * One kind of fault, or the C program, in turns with the others.
 *
 * @param label unique among the sides
 * @param processes by which a round is judged
 * @param turns all rounds so far
 */
record CoherentSide(String label, List<Long> processes, Round round, List<FetchRound> turns) implements ComparedSide {
    /** What is measured. Every page is checked. */
    @FunctionalInterface
    interface Round {
        /**
         * Runs a round.
         *
         * @param number as of no round before
         */
        FetchRound run(int number) throws InterruptedException;
    }

    CoherentSide(String label, List<Long> processes, Round round) {
        this(label, processes, round, new ArrayList<>());
    }

    @Override
    public FetchRound run(int number) throws InterruptedException {
        turns.add(round.run(number));
        return turns.getLast();
    }
}
