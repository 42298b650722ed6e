package io.farpage.agent.rest;

import io.farpage.agent.control.mount.MountCounters;
import io.prometheus.metrics.core.metrics.CounterWithCallback;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.function.Supplier;
import java.util.function.ToLongFunction;

/** The metrics of snapshots that are mounted as files. */
public final class MountMetrics {
    private MountMetrics() {}

    /** Registers everything. */
    public static void register(PrometheusRegistry registry, Supplier<MountCounters> counters) {
        count(
                registry,
                "farpage_agent_mount_reads_total",
                "Reads of mounted snapshots that the kernel had not in its page cache",
                counters,
                MountCounters::reads);
        count(
                registry,
                "farpage_agent_mount_read_bytes_total",
                "Bytes of these reads, readahead and zeros included",
                counters,
                MountCounters::readBytes);
        count(
                registry,
                "farpage_agent_mount_prefetched_bytes_total",
                "Bytes of mounted snapshots that were put into the page cache before they were read",
                counters,
                MountCounters::prefetchedBytes);
    }

    private static void count(
            PrometheusRegistry registry,
            String name,
            String help,
            Supplier<MountCounters> counters,
            ToLongFunction<MountCounters> value) {
        CounterWithCallback.builder()
                .name(name)
                .help(help)
                .callback(callback -> callback.call((double) value.applyAsLong(counters.get())))
                .register(registry);
    }
}
