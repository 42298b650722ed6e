package io.farpage.agent.control.latency;

import io.farpage.agent.data.shard.Fetcher;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A fetcher of the control plane and the latencies of its transfers. Thread-safe.
 *
 * @param read of transfers from homes
 * @param write of transfers to homes
 */
public record FetcherLatencies(Fetcher fetcher, LatencyTotals read, LatencyTotals write) {
    /** For each fetcher. */
    public static Map<String, FetcherLatencies> of(Map<String, Fetcher> fetchers) {
        return fetchers.entrySet().stream()
                .collect(Collectors.toUnmodifiableMap(Map.Entry::getKey, each -> of(each.getValue())));
    }

    private static FetcherLatencies of(Fetcher fetcher) {
        return new FetcherLatencies(
                fetcher, new LatencyTotals(fetcher.readLatency()), new LatencyTotals(fetcher.writeLatency()));
    }

    /** Their series beside those of guests. */
    public static List<LatencySeries> with(Map<String, FetcherLatencies> fetchers, List<LatencySeries> guests) {
        return Stream.concat(
                        guests.stream(),
                        fetchers.entrySet().stream()
                                .flatMap(each -> Stream.of(
                                        LatencySeries.of(
                                                "read",
                                                each.getKey(),
                                                each.getValue().read()),
                                        LatencySeries.of(
                                                "write",
                                                each.getKey(),
                                                each.getValue().write()))))
                .toList();
    }
}
