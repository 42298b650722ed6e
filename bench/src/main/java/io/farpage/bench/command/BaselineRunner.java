package io.farpage.bench.command;

import io.farpage.bench.report.Baseline;
import io.farpage.bench.report.Turn;
import java.util.List;

/** Runs the baseline of one scenario, in rounds between those of farpage. Used by one thread. */
public interface BaselineRunner extends AutoCloseable {
    /**
     * Runs one round.
     *
     * @param round from 0
     * @param fetches of farpage's last round, for a baseline that cannot go by time
     */
    Turn run(int round, long fetches) throws InterruptedException;

    /** Ids of its processes that live through its rounds. */
    default List<Long> processes() {
        return List.of();
    }

    /**
     * The result.
     *
     * @param turns those that count, of all that have been run
     */
    Baseline result(List<Turn> turns);

    /** Whether there is nothing to run. */
    default boolean isAbsent() {
        return false;
    }

    @Override
    default void close() {}

    /** No baseline, with the reason in a form to show. */
    static BaselineRunner absent(String reason) {
        return new BaselineRunner() {
            @Override
            public Turn run(int round, long fetches) {
                throw new IllegalStateException("there is no baseline to run: " + reason);
            }

            @Override
            public Baseline result(List<Turn> turns) {
                return new Baseline.Absent(reason);
            }

            @Override
            public boolean isAbsent() {
                return true;
            }
        };
    }
}
