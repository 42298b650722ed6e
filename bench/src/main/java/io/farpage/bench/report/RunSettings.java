package io.farpage.bench.report;

/**
 * What a run was asked to do, and where: the words without which its figures mean nothing.
 *
 * @param name of the run, unique in a report and fit for a file name, as in {@code latency-spin}
 * @param mode {@code latency} or {@code throughput}
 * @param transport that carried the pages, as in {@code soft} or {@code ibverbs}
 * @param pageSize in bytes
 * @param depth fetches outstanding at once
 * @param pattern random, sequential or zipf
 * @param placement which CPUs each side ran on
 * @param idleStrategy of the fetching side and the serving side
 * @param hugepages what the pages were backed by
 * @param warmup fetches before each round that were not recorded
 */
public record RunSettings(
        String name,
        String mode,
        String transport,
        int pageSize,
        int depth,
        String pattern,
        String placement,
        String idleStrategy,
        String hugepages,
        long warmup) {
    public RunSettings {
        if (!name.matches("[a-z0-9][a-z0-9._-]*")) {
            throw new IllegalArgumentException("run name '" + name + "'; must be lower case letters, digits, . _ or -");
        }
    }
}
