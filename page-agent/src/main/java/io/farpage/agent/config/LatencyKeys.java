package io.farpage.agent.config;

import io.farpage.agent.control.latency.LatencyLog;
import io.farpage.config.Config;
import io.farpage.config.Key;
import io.farpage.config.ValueTypes;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** The keys of the interval log of latencies. */
public final class LatencyKeys {
    public static final Key<Optional<Path>> DIRECTORY = Key.optional(
            "latency.directory",
            ValueTypes.path(),
            "Directory for logs of latencies in HdrHistogram's interval log format, created if missing; no log if left"
                    + " out. `page-agent latency --file` and HdrHistogram's tools read them.");
    public static final Key<Duration> INTERVAL = Key.duration(
            "latency.interval", "1s", "100ms", "1h", "Interval of these logs: every series has a histogram for each.");
    public static final Key<Long> MAX_SIZE = Key.bytes(
            "latency.max_size", "64MiB", "64KiB", "16GiB", "Size at which the next file of these logs is begun.");
    public static final Key<Integer> KEEP = Key.integer(
            "latency.keep",
            7,
            0,
            100_000,
            "Full files of these logs that are kept beside the one that is written; the oldest are deleted.");

    /** All of them, in the order of the reference page. */
    static final List<Key<?>> ALL = List.of(DIRECTORY, INTERVAL, MAX_SIZE, KEEP);

    private LatencyKeys() {}

    /** The log that is configured, if one is. */
    public static Optional<LatencyLog.Options> log(Config config) {
        return config.get(DIRECTORY)
                .map(directory -> new LatencyLog.Options(
                        directory, config.get(INTERVAL), config.get(MAX_SIZE), config.get(KEEP)));
    }
}
