package io.farpage.limit;

import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * A token bucket for each key. A key that was not used for the longest time is forgotten first, and begins again with a
 * full bucket. Thread-safe.
 */
public final class TokenBuckets {

    private static final double SECOND_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final RateLimits.Rate rate;
    private final LongSupplier clock;
    private final RecentlyUsed<Bucket> buckets;

    /** Tokens at a moment. */
    private static final class Bucket {
        private double tokens;
        private long at;

        Bucket(double tokens, long at) {
            this.tokens = tokens;
            this.at = at;
        }
    }

    /**
     * Makes the table.
     *
     * @param most keys that are kept
     * @param clock monotonic nanoseconds
     */
    public TokenBuckets(RateLimits.Rate rate, int most, LongSupplier clock) {
        this.rate = rate;
        this.clock = clock;
        this.buckets = new RecentlyUsed<>(most);
    }

    /**
     * Takes a token.
     *
     * @return 0 if one was taken; otherwise nanoseconds until there is one
     */
    public synchronized long take(String key) {
        long now = clock.getAsLong();
        Bucket bucket = buckets.computeIfAbsent(key, _ -> new Bucket(rate.burst(), now));
        bucket.tokens = Math.min(rate.burst(), bucket.tokens + (now - bucket.at) / SECOND_NANOS * rate.perSecond());
        bucket.at = now;
        if (bucket.tokens >= 1) {
            bucket.tokens -= 1;
            return 0;
        }
        return Math.max(1, (long) Math.ceil((1 - bucket.tokens) / rate.perSecond() * SECOND_NANOS));
    }

    synchronized int size() {
        return buckets.size();
    }
}
