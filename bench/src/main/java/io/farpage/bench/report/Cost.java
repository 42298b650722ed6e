package io.farpage.bench.report;

/**
 * What a fetch took beside time.
 *
 * @param allocatedBytesPerFetch by the thread that fetches, median over the rounds: 0 once the JIT compiler is done
 * @param cpuNsPerFetch CPU time of the fetching process, all its threads together
 * @param replays fetches that were asked again because the link was lost meanwhile
 */
public record Cost(double allocatedBytesPerFetch, double cpuNsPerFetch, long replays) {}
