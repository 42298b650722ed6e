package io.farpage.bench.stall;

import io.farpage.bench.report.Scheduling;
import java.util.List;

/** What counts the contention of one side of a round, from its beginning to its end. */
@FunctionalInterface
public interface CpuWatch {
    /** A round under way. */
    @FunctionalInterface
    interface Watched {
        /**
         * Ends it.
         *
         * @param ended what the scheduler did to programs that took part and have ended
         */
        Contention end(Scheduling ended);
    }

    /**
     * Begins.
     *
     * @param processes ids of those that take part and live through the round
     */
    Watched begin(List<Long> processes);

    /** By the files below {@code /proc}. */
    static CpuWatch ofThisMachine() {
        return ProcFiles::begin;
    }
}
