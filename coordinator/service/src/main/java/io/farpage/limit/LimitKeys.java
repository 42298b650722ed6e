package io.farpage.limit;

import io.farpage.config.Config;
import io.farpage.config.Key;
import java.time.Duration;
import java.util.List;
import java.util.function.LongSupplier;

/** The configuration keys that every farpage service has for its rate limits. */
public final class LimitKeys {

    private static final int MOST = 1_000_000_000;

    /** Rate of one identity. */
    public static final Key<Integer> IDENTITY_RATE = Key.integer(
            "limits.identity_rate",
            1_000,
            1,
            MOST,
            "Requests that one identity, a node or a token, may make each second on average. Beyond it they are refused"
                    + " with status 429 and Retry-After. A long poll counts once.");

    /** Burst of one identity. */
    public static final Key<Integer> IDENTITY_BURST = Key.integer(
            "limits.identity_burst", 5_000, 1, MOST, "Requests that one identity may make at once after a silence.");

    /** Rate of one address. */
    public static final Key<Integer> ADDRESS_RATE = Key.integer(
            "limits.address_rate",
            5_000,
            1,
            MOST,
            "As `limits.identity_rate`, for all requests together that come from one address and show no identity;"
                    + " without TLS these are all requests. Addresses of IPv6 count by their /64.");

    /** Burst of one address. */
    public static final Key<Integer> ADDRESS_BURST = Key.integer(
            "limits.address_burst", 20_000, 1, MOST, "Requests without identity that one address may make at once.");

    /** Failed attempts. */
    public static final Key<Integer> FAILURES = Key.integer(
            "limits.failures_per_minute",
            30,
            1,
            MOST,
            "Tokens, join tokens and certificates that do not count which one address may show in a minute. Then its"
                    + " tokens are not looked at for a pause, and refused with status 429. Valid certificates are not"
                    + " affected.");

    /** Open connections of one address. */
    public static final Key<Integer> ADDRESS_CONNECTIONS = Key.integer(
            "limits.address_connections",
            1_000,
            2,
            1_000_000,
            "TCP connections to the REST API that one address may have open. One more is closed before a byte of it is"
                    + " read. No address has more than half of those that the process has room for: one for each 128"
                    + " KiB of its heap (-Xmx), and a quarter of its descriptors at most.");

    /** First pause. */
    public static final Key<Duration> PAUSE = Key.duration(
            "limits.failure_pause", "1s", "10ms", "1h", "The first such pause; each later one is twice as long.");

    /** Longest pause. */
    public static final Key<Duration> LONGEST_PAUSE =
            Key.duration("limits.longest_failure_pause", "1m", "10ms", "1d", "No such pause is longer.");

    /** All of them, in the order of the reference page. */
    public static final List<Key<?>> ALL = List.of(
            IDENTITY_RATE,
            IDENTITY_BURST,
            ADDRESS_RATE,
            ADDRESS_BURST,
            ADDRESS_CONNECTIONS,
            FAILURES,
            PAUSE,
            LONGEST_PAUSE);

    private LimitKeys() {}

    /**
     * The limits that are configured.
     *
     * @param clock monotonic nanoseconds
     */
    public static RateLimits open(Config config, LongSupplier clock) {
        return new RateLimits(
                new RateLimits.Options(
                        new RateLimits.Rate(config.get(IDENTITY_RATE), config.get(IDENTITY_BURST)),
                        new RateLimits.Rate(config.get(ADDRESS_RATE), config.get(ADDRESS_BURST)),
                        new RateLimits.Attempts(config.get(FAILURES), config.get(PAUSE), config.get(LONGEST_PAUSE)),
                        config.get(ADDRESS_CONNECTIONS)),
                clock);
    }
}
