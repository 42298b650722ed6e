package io.farpage.bench.command;

import io.farpage.bench.report.Baseline;

/** Runs the baseline of one scenario, in rounds between those of farpage. Used by one thread. */
public interface BaselineRunner extends AutoCloseable {
    /**
     * Runs one round.
     *
     * @param round from 0
     * @param fetches of farpage's last round, for a baseline that cannot go by time
     */
    void run(int round, long fetches) throws InterruptedException;

    /** The result of all rounds. */
    Baseline result();

    @Override
    default void close() {}

    /** No baseline, with the reason in a form to show. */
    static BaselineRunner absent(String reason) {
        return new BaselineRunner() {
            @Override
            public void run(int round, long fetches) {}

            @Override
            public Baseline result() {
                return new Baseline.Absent(reason);
            }
        };
    }
}
