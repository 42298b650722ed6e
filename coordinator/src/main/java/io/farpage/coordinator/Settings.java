package io.farpage.coordinator;

import io.farpage.config.Config;
import io.farpage.config.ConfigException;
import io.farpage.config.HostPort;
import io.farpage.config.Key;
import io.farpage.config.Quantities;
import io.farpage.config.Schema;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/** The coordinator's configuration keys. */
public final class Settings {

    /** Where the REST interface listens. */
    public static final Key<HostPort> LISTEN = Key.hostPort(
            "server.listen",
            "127.0.0.1:7400",
            "Where the REST interface listens; port 0 lets the system choose. There is no authentication: give it an address that only the cluster can reach.");

    /** Longest request body. */
    public static final Key<Long> MAX_BODY = Key.bytes(
            "server.max_body",
            "4MiB",
            "1KiB",
            "256MiB",
            "Longest request body; a longer one is refused with status 413.");

    /** Where the store is. */
    public static final Key<Path> DIRECTORY = Key.path(
            "store.directory",
            "/var/lib/farpage/coordinator",
            "Where the coordinator keeps its state; made if need be. One coordinator at a time can use it.");

    /** How long a lease holds. */
    public static final Key<Duration> LEASE = Key.duration(
            "lease.duration",
            "15s",
            "100ms",
            "1h",
            "How long after its last heartbeat a node is taken to have failed; also the grace after a restart of the coordinator.");

    /** How often heartbeats should come. */
    public static final Key<Duration> HEARTBEAT = Key.duration(
            "lease.heartbeat_interval",
            "5s",
            "10ms",
            "20m",
            "How often agents are told to send heartbeats; at most half of lease.duration.");

    /** How many events are kept. */
    public static final Key<Integer> EVENTS = Key.integer(
            "events.retained",
            10_000,
            16,
            10_000_000,
            "How many events are kept in memory; a watcher that is further behind must read everything anew.");

    /** All of them. */
    public static final Schema SCHEMA = Schema.of("coordinator", LISTEN, MAX_BODY, DIRECTORY, LEASE, HEARTBEAT, EVENTS);

    private Settings() {}

    /**
     * Checks what concerns several keys.
     *
     * @throws ConfigException if they do not fit
     */
    static Config check(Config config) {
        if (config.get(HEARTBEAT).multipliedBy(2).compareTo(config.get(LEASE)) > 0) {
            throw new ConfigException(
                    List.of("%s: '%s' from %s is not valid: allowed is at most half of %s, which is %s (%s)"
                            .formatted(
                                    HEARTBEAT,
                                    Quantities.format(config.get(HEARTBEAT)),
                                    config.origin(HEARTBEAT),
                                    LEASE,
                                    Quantities.format(config.get(LEASE)),
                                    config.origin(LEASE))));
        }
        return config;
    }
}
