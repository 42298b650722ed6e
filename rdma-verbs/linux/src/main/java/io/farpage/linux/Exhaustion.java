package io.farpage.linux;

import java.util.concurrent.TimeUnit;

/**
 * What an accepting thread does while the process or the system has no free descriptor: it pauses, since the listening
 * socket stays readable, and permits a log line at most once a second. Used by one thread.
 */
public final class Exhaustion {
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final long LOG_INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(1);

    private boolean logged;
    private long loggedAt;
    private long failures;
    private boolean pausing;
    private long pausedUntil;

    /** Describes an exhaustion, so that every class which that takes is loaded while descriptors are free. */
    public Exhaustion() {
        describe(ErrnoName.of(Errno.EMFILE));
    }

    /**
     * Takes the error of a failed accept(2).
     *
     * @param error a positive error number
     * @param now as {@link System#nanoTime()} has it
     * @return whether to log it: it is an exhaustion, and the last one was logged a second ago or longer
     */
    public boolean isOf(int error, long now) {
        if (error != Errno.EMFILE && error != Errno.ENFILE && error != Errno.ENOMEM && error != Errno.ENOBUFS) {
            return false;
        }
        failures++;
        pausing = true;
        pausedUntil = now + PAUSE_NANOS;
        if (logged && now - loggedAt < LOG_INTERVAL_NANOS) {
            return false;
        }
        logged = true;
        loggedAt = now;
        return true;
    }

    /** Nanoseconds until the next accept should be tried, 0 if it may be tried now. */
    public long remainingNanos(long now) {
        if (pausing && now - pausedUntil >= 0) {
            pausing = false;
        }
        return pausing ? pausedUntil - now : 0;
    }

    /** The line to log, with the fix. Counts the failures since the last one. */
    public String describe(String errorName) {
        long count = failures;
        failures = 0;
        return "%s, %d times since the last message; raise the limit of open files (ulimit -n, LimitNOFILE=)"
                .formatted(errorName, count);
    }
}
