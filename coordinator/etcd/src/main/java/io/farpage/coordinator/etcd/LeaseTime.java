package io.farpage.coordinator.etcd;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Until when a lease of etcd holds on this side: until three quarters of its length after the last renewal that was
 * answered was <em>sent</em>. etcd ends it a whole length after the renewal came in at the earliest. The end is final.
 * Thread-safe.
 */
final class LeaseTime {

    private final LongSupplier clock;
    private final long term;
    private final CountDownLatch ended = new CountDownLatch(1);
    private volatile long until;

    /**
     * @param clock in nanoseconds; must go on while this host is suspended, as the clocks of etcd's members do
     * @param sent when the lease was asked for
     */
    LeaseTime(Duration length, LongSupplier clock, long sent) {
        this.clock = clock;
        this.term = length.toNanos() / 4 * 3;
        this.until = sent + term;
    }

    long now() {
        return clock.getAsLong();
    }

    /** Holds for longer, as a renewal was answered; says whether it was before the end. Used by one thread. */
    boolean renew(long sent) {
        if (!holds()) {
            return false;
        }
        until = sent + term;
        return true;
    }

    boolean holds() {
        return ended.getCount() > 0 && now() < until;
    }

    void end() {
        ended.countDown();
    }

    /** Pauses, at most until the end; says whether it has ended. */
    boolean pause(Duration pause) throws InterruptedException {
        return ended.await(pause.toMillis(), TimeUnit.MILLISECONDS);
    }

    /** Waits for the end; says whether it has come. */
    boolean awaitEnd(Duration longest) throws InterruptedException {
        long end = System.nanoTime() + longest.toNanos();
        while (holds()) {
            long left = end - System.nanoTime();
            if (left <= 0) {
                return false;
            }
            long wait = Math.min(until - now(), left);
            if (ended.await(Math.max(1, TimeUnit.NANOSECONDS.toMillis(wait)), TimeUnit.MILLISECONDS)) {
                return true;
            }
        }
        return true;
    }
}
