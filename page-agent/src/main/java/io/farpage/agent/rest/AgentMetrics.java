package io.farpage.agent.rest;

import io.farpage.agent.control.latency.FetcherLatencies;
import io.farpage.agent.control.latency.LatencyTotals;
import io.farpage.agent.control.link.LinkControl;
import io.farpage.agent.data.shard.Counter;
import io.farpage.agent.data.shard.Fetcher;
import io.farpage.pool.PagePool;
import io.farpage.pool.PoolStatistics;
import io.prometheus.metrics.core.metrics.CounterWithCallback;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.ToLongFunction;

/** The agent's metrics: of its transfers, links and pool, read when they are scraped. */
public final class AgentMetrics {
    private final PrometheusRegistry registry;
    private final Map<String, FetcherLatencies> fetchers;

    private AgentMetrics(PrometheusRegistry registry, Map<String, FetcherLatencies> fetchers) {
        this.registry = registry;
        this.fetchers = fetchers;
    }

    /**
     * Registers everything.
     *
     * @param fetchers by their purpose, which becomes the label {@code source}
     */
    public static void register(
            PrometheusRegistry registry,
            Map<String, FetcherLatencies> fetchers,
            Supplier<LinkControl> links,
            Supplier<PagePool> pool) {
        AgentMetrics metrics = new AgentMetrics(registry, Map.copyOf(fetchers));
        metrics.transfers();
        metrics.links(links);
        metrics.pool(pool);
    }

    private void transfers() {
        latency("farpage_agent_fetch_seconds", "From the request of a page to its arrival", FetcherLatencies::read);
        latency(
                "farpage_agent_writeback_seconds",
                "From the start of a write-back to its completion",
                FetcherLatencies::write);
        count("farpage_agent_fetches_total", "Fetches that succeeded", Fetcher::pagesRead);
        count("farpage_agent_writebacks_total", "Write-backs that succeeded", Fetcher::pagesWritten);
        count("farpage_agent_fetched_bytes_total", "Bytes fetched", Fetcher::bytesRead);
        count("farpage_agent_writeback_bytes_total", "Bytes written back", Fetcher::bytesWritten);
        count("farpage_agent_transfer_errors_total", "Transfers that ended in an error", Fetcher::failures);
        count("farpage_agent_transfer_replays_total", "Transfers posted again after a link broke", Fetcher::replays);
    }

    private void latency(String name, String help, Function<FetcherLatencies, LatencyTotals> which) {
        registry.register(new LatencyMetric(
                name,
                help,
                List.of("source"),
                () -> fetchers.entrySet().stream()
                        .map(one -> new LatencyMetric.Sample(
                                which.apply(one.getValue()).sample(), List.of(one.getKey())))
                        .toList()));
    }

    private void count(String name, String help, Function<Fetcher, Counter> counter) {
        CounterWithCallback.builder()
                .name(name)
                .help(help)
                .labelNames("source")
                .callback(callback -> fetchers.forEach((source, fetcher) ->
                        callback.call((double) counter.apply(fetcher.fetcher()).get(), source)))
                .register(registry);
    }

    private void links(Supplier<LinkControl> links) {
        GaugeWithCallback.builder()
                .name("farpage_agent_peers_connected")
                .help("Peers whose link is up")
                .callback(callback -> callback.call(countUp(links)))
                .register(registry);
        GaugeWithCallback.builder()
                .name("farpage_agent_link_up")
                .help("Whether the link to a peer is up, and over which transport")
                .labelNames("peer", "transport")
                .callback(callback -> links.get()
                        .status()
                        .forEach(link ->
                                callback.call(link.state().equals("up") ? 1 : 0, link.peer(), link.transport())))
                .register(registry);
        GaugeWithCallback.builder()
                .name("farpage_agent_link_without_keys")
                .help("Whether a peer has granted memory without a key for an RDMA device, so that the link is over"
                        + " TCP")
                .labelNames("peer")
                .callback(callback -> {
                    Set<String> without = links.get().withoutKeys();
                    links.get()
                            .status()
                            .forEach(link -> callback.call(without.contains(link.peer()) ? 1 : 0, link.peer()));
                })
                .register(registry);
    }

    private static int countUp(Supplier<LinkControl> links) {
        return Math.toIntExact(links.get().status().stream()
                .filter(link -> link.state().equals("up"))
                .count());
    }

    private void pool(Supplier<PagePool> pool) {
        gauge(
                "farpage_agent_pool_exported_bytes",
                "Memory for other nodes' pages",
                pool,
                PoolStatistics::exportedBytes);
        gauge("farpage_agent_pool_staging_bytes", "Memory that fetches land in", pool, PoolStatistics::stagingBytes);
        gauge("farpage_agent_pool_hugepages", "Hugepages behind the pool", pool, PoolStatistics::hugepages);
        gauge("farpage_agent_pool_locked", "Whether the pool is locked", pool, s -> s.locked() ? 1 : 0);
        gauge("farpage_agent_pool_zeroed_bytes", "Bytes zeroed for another owner", pool, PoolStatistics::zeroedBytes);
        gauge(
                "farpage_agent_pool_degraded",
                "Preferred properties of the pool that are not available",
                pool,
                s -> s.steps().size());
        GaugeWithCallback.builder()
                .name("farpage_agent_pool_staging_frames_free")
                .help("Staging frames that are free")
                .callback(callback -> callback.call(pool.get().stagingFrames().available()))
                .register(registry);
        GaugeWithCallback.builder()
                .name("farpage_agent_pool_backing")
                .help("What the pool's pages are")
                .labelNames("backing")
                .callback(callback -> callback.call(1, pool.get().backing().toString()))
                .register(registry);
    }

    private void gauge(String name, String help, Supplier<PagePool> pool, ToLongFunction<PoolStatistics> value) {
        GaugeWithCallback.builder()
                .name(name)
                .help(help)
                .callback(callback ->
                        callback.call((double) value.applyAsLong(pool.get().statistics())))
                .register(registry);
    }
}
