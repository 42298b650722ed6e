package io.farpage.limit;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * The failed attempts of each address to authenticate, and the pauses that follow. An address has a limited number of
 * attempts a minute. After them it pauses, at first shortly and each time twice as long. An address begins anew after a
 * time without failures in which all its attempts come back. Thread-safe.
 */
final class FailedAttempts {

    private static final double MINUTE_NANOS = TimeUnit.MINUTES.toNanos(1);
    private static final int MOST_DOUBLINGS = 30;

    private final RateLimits.Attempts options;
    private final LongSupplier clock;
    private final RecentlyUsed<Address> addresses;

    /** What is left to an address. */
    private static final class Address {
        private double attempts;
        private long at;
        private int pauses;
        private long pausedUntil;

        Address(double attempts, long now) {
            this.attempts = attempts;
            this.at = now;
            this.pausedUntil = now;
        }
    }

    /**
     * Makes the table.
     *
     * @param most addresses that are kept
     * @param clock monotonic nanoseconds
     */
    FailedAttempts(RateLimits.Attempts options, int most, LongSupplier clock) {
        this.options = options;
        this.clock = clock;
        this.addresses = new RecentlyUsed<>(most);
    }

    /** Nanoseconds that an address pauses from now on; 0 if it does not. */
    synchronized long pause(String key) {
        Address address = addresses.get(key);
        return address == null ? 0 : Math.max(0, address.pausedUntil - clock.getAsLong());
    }

    /** Counts a failure, unless the address pauses. */
    synchronized void failed(String key) {
        long now = clock.getAsLong();
        Address address = addresses.computeIfAbsent(key, _ -> new Address(options.perMinute(), now));
        if (address.pausedUntil - now > 0) {
            return;
        }
        address.attempts = Math.min(
                options.perMinute(), address.attempts + (now - address.at) / MINUTE_NANOS * options.perMinute());
        address.at = now;
        if (address.attempts >= options.perMinute()) {
            address.pauses = 0;
        }
        address.attempts -= 1;
        if (address.attempts < 1) {
            address.pausedUntil = now + next(address.pauses).toNanos();
            address.pauses++;
        }
    }

    private Duration next(int pauses) {
        Duration longest = options.longestPause();
        if (pauses >= MOST_DOUBLINGS) {
            return longest;
        }
        Duration pause = options.pause().multipliedBy(1L << pauses);
        return pause.compareTo(longest) > 0 ? longest : pause;
    }

    synchronized int size() {
        return addresses.size();
    }
}
