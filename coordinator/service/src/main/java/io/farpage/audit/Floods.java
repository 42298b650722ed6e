package io.farpage.audit;

import io.farpage.limit.RateLimits;
import io.farpage.limit.TokenBuckets;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.LongSupplier;

/**
 * Limits refusals in the audit to a burst of twenty and then one each second per kind. The others are counted, and the
 * counts are written. Refusals of proven identities are kinds of their own, so that strangers cannot hide them.
 * Thread-safe.
 */
final class Floods {

    private static final RateLimits.Rate RATE = new RateLimits.Rate(1, 20);

    /** Kinds are words of the program, so there are far fewer. */
    private static final int MOST_KINDS = 1_000;

    private final TokenBuckets buckets;
    private final Map<String, Long> suppressed = new TreeMap<>();

    /** @param clock monotonic nanoseconds */
    Floods(LongSupplier clock) {
        buckets = new TokenBuckets(RATE, MOST_KINDS, clock);
    }

    /** Whether an event is written; if not, it is counted. */
    synchronized boolean admit(AuditEvent event) {
        if (event.outcome().result() != AuditEvent.Result.REFUSED
                && event.outcome().result() != AuditEvent.Result.FAILED) {
            return true;
        }
        String kind = kind(event);
        if (buckets.take(kind) == 0) {
            return true;
        }
        suppressed.merge(kind, 1L, Long::sum);
        return false;
    }

    private static String kind(AuditEvent event) {
        String status = event.outcome().status().isPresent()
                ? " " + event.outcome().status().getAsInt()
                : "";
        return event.act() + status + " of " + event.actor().kind();
    }

    /** What was counted since the last call, by kind. */
    synchronized Map<String, Long> drain() {
        Map<String, Long> counts = new TreeMap<>(suppressed);
        suppressed.clear();
        return counts;
    }
}
