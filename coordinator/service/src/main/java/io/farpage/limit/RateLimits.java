package io.farpage.limit;

import io.farpage.access.Identity;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;

/**
 * How many requests a service takes from one identity, and from one address whose requests show no identity. An
 * identity that is proven has its own limit and not that of its address, so that a stranger at the same address keeps
 * no agent out. Thread-safe.
 */
public final class RateLimits {

    /** Identities and addresses that are remembered: some megabytes. */
    static final int MOST_KEYS = 10_000;

    /** Which limit was reached. */
    public enum Limit {
        /** Requests of one identity. */
        IDENTITY,
        /** Requests of one address. */
        ADDRESS,
        /** Failed authentications of one address. */
        AUTHENTICATION,
        /** Open connections of one address. */
        CONNECTIONS
    }

    /**
     * A token bucket.
     *
     * @param perSecond tokens that come back each second, at least 1
     * @param burst tokens of a full bucket, at least 1
     */
    public record Rate(int perSecond, int burst) {}

    /**
     * Failed authentications of one address.
     *
     * @param perMinute that are answered before the address pauses, at least 1
     * @param pause the first pause; each later one is twice as long
     * @param longestPause no pause is longer
     */
    public record Attempts(int perMinute, Duration pause, Duration longestPause) {}

    /**
     * All limits.
     *
     * @param identity of one identity
     * @param address of one address, for requests without identity
     * @param attempts of one address
     * @param connections that one address may have open, at least 1
     */
    public record Options(Rate identity, Rate address, Attempts attempts, int connections) {}

    private final TokenBuckets identities;
    private final TokenBuckets addresses;
    private final FailedAttempts attempts;
    private final int connections;
    private final Map<Limit, LongAdder> refused = new EnumMap<>(Limit.class);

    /** @param clock monotonic nanoseconds */
    public RateLimits(Options options, LongSupplier clock) {
        identities = new TokenBuckets(options.identity(), MOST_KEYS, clock);
        addresses = new TokenBuckets(options.address(), MOST_KEYS, clock);
        attempts = new FailedAttempts(options.attempts(), MOST_KEYS, clock);
        connections = options.connections();
        for (Limit limit : Limit.values()) {
            refused.put(limit, new LongAdder());
        }
    }

    /**
     * Counts a request.
     *
     * @param identity on whose behalf
     * @param address of the client
     * @return how long the client must wait, if it has reached its limit
     */
    public Optional<Duration> request(Identity identity, String address) {
        return switch (identity) {
            case Identity.Node(String id) -> taken(identities.take("node " + id), Limit.IDENTITY);
            case Identity.Principal(String name, var _, String proof) ->
                taken(identities.take(proof + " " + name), Limit.IDENTITY);
            case Identity.Coordinator() -> taken(identities.take("coordinator"), Limit.IDENTITY);
            case Identity.Unauthenticated(), Identity.Stranger _ ->
                taken(addresses.take(AddressGroup.of(address)), Limit.ADDRESS);
        };
    }

    /**
     * How long no credentials of an address are looked at, if it has failed too often. Asked only when the answer is a
     * refusal, which is counted.
     */
    public Optional<Duration> pause(String address) {
        return taken(attempts.pause(AddressGroup.of(address)), Limit.AUTHENTICATION);
    }

    /** An address has shown credentials that do not count. */
    public void failed(String address) {
        attempts.failed(AddressGroup.of(address));
    }

    /** The connections of each address, to be counted by one connector. */
    public AddressConnections connections(int possible) {
        return new AddressConnections(
                Math.max(1, Math.min(connections, possible / 2)),
                () -> refused.getOrDefault(Limit.CONNECTIONS, new LongAdder()).increment());
    }

    /** Requests, and connections, that were refused for a limit so far. */
    public long refused(Limit limit) {
        return refused.getOrDefault(limit, new LongAdder()).sum();
    }

    private Optional<Duration> taken(long waitNanos, Limit limit) {
        if (waitNanos == 0) {
            return Optional.empty();
        }
        refused.getOrDefault(limit, new LongAdder()).increment();
        return Optional.of(Duration.ofNanos(waitNanos));
    }
}
