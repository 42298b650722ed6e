package io.farpage.bench.report;

/** What one side gave in a round. */
public sealed interface Turn permits FetchRound, Rate {
    double pagesPerSecond();

    /** What the scheduler did to programs that have ended with the round. */
    default Scheduling scheduling() {
        return Scheduling.NONE;
    }
}
