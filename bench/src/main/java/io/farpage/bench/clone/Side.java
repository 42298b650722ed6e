package io.farpage.bench.clone;

import io.farpage.bench.report.Cost;
import io.farpage.bench.report.FetchRound;

/** What is measured in rounds: one way to start clones or to touch pages. Used by one thread. */
interface Side {
    /** The name of this way, such as {@code local-file}. */
    String name();

    /** What the memory is. */
    String backing();

    /**
     * Runs one round.
     *
     * @param round from 0
     */
    FetchRound run(int round) throws InterruptedException;

    /** What the rounds that have been run took beside time. */
    Cost cost();
}
