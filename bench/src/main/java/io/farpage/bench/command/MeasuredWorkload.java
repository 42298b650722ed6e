package io.farpage.bench.command;

import io.farpage.bench.report.Cost;
import io.farpage.bench.report.FetchRound;
import io.farpage.bench.report.RunSettings;
import java.util.List;

/** What {@link Rounds} measures in one scenario: farpage's side. Used by one thread. */
public interface MeasuredWorkload {
    /** Unique among the scenarios of one invocation, and fit for a file name. */
    String name();

    /**
     * Runs one round.
     *
     * @param round from 0
     */
    FetchRound run(int round) throws InterruptedException;

    /** The conditions of the rounds that have been run. */
    RunSettings settings() throws InterruptedException;

    /** Ids of the processes that take part in its rounds and live through them. */
    default List<Long> processes() {
        return List.of();
    }

    /**
     * What rounds took beside time.
     *
     * @param kept numbers of those that count
     */
    Cost cost(List<Integer> kept);
}
