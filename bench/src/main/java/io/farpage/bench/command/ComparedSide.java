package io.farpage.bench.command;

import io.farpage.bench.report.Turn;
import java.util.List;

/** What takes turns with the other sides of a run. Used by one thread. */
public interface ComparedSide {
    /** For people, as in {@code farpage} and {@code baseline}. */
    String label();

    /**
     * Runs a round.
     *
     * @param round from 0
     */
    Turn run(int round) throws InterruptedException;

    /** Ids of the processes that take part in a round and live on. */
    List<Long> processes();
}
