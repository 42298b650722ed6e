package io.farpage.bench.fetch;

import io.farpage.bench.report.Baseline;

/** The baseline that takes turns with farpage in one scenario. Used by one thread. */
interface BaselineRunner extends AutoCloseable {
    /**
     * Takes its turn.
     *
     * @param fetches of farpage's last round, for a rival that cannot go by time
     */
    void turn(long fetches) throws InterruptedException;

    /** All its turns. */
    Baseline told();

    @Override
    void close();
}
