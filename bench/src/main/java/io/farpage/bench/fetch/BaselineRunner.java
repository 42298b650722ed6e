package io.farpage.bench.fetch;

import io.farpage.bench.report.Baseline;

/** Runs the baseline of one scenario, in rounds between those of farpage. Used by one thread. */
interface BaselineRunner extends AutoCloseable {
    /**
     * Runs one round.
     *
     * @param fetches of farpage's last round, for a baseline that cannot go by time
     */
    void runRound(long fetches) throws InterruptedException;

    /** The result of all rounds. */
    Baseline result();

    @Override
    void close();
}
