package io.farpage.agent.data.shard;

import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Time by which the owner of a duty cycle judges how long a peer has not answered. Between two duty cycles it counts
 * 200 ms at most, so an owner that stood still, since its process was stopped or its CPU was taken away, does not blame
 * a peer for that.
 *
 * <p>Silence is judged at {@link #now()}, which stands still during a duty cycle. The owner advances it before it
 * handles completions. So what has completed before that time has been handled when its silence is judged. What begins
 * is stamped with {@link #read()}, which goes on during a duty cycle: a long one does not count as time of what begins
 * at its end.
 */
public final class SilenceClock {
    /** More than a shard's thread sleeps while a transfer is under way. */
    public static final long MAX_STEP_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

    private final LongSupplier clock;
    private long advancedAt;
    private long now;
    private long slept;
    private boolean stoodStill;
    private long stoodStillAt;

    /** @param clock monotonic nanoseconds */
    public SilenceClock(LongSupplier clock) {
        this.clock = clock;
        advancedAt = clock.getAsLong();
        now = advancedAt;
    }

    /** A duty cycle begins, whose completions are not handled yet. */
    public void advance() {
        long at = clock.getAsLong();
        long passed = at - advancedAt;
        now += Math.min(passed, MAX_STEP_NANOS);
        advancedAt = at;
        if (passed - slept > MAX_STEP_NANOS) {
            stoodStill = true;
            stoodStillAt = now;
        }
        slept = 0;
    }

    /**
     * The owner has slept since the last duty cycle, for so long at most: by that it does not count as having stood
     * still.
     */
    void slept(long atMostNanos) {
        slept += atMostNanos;
    }

    /**
     * Whether a duty cycle within this time began more than {@link #MAX_STEP_NANOS} later than it should have: the
     * process was stopped, or had no CPU. Others may have given this process up meanwhile, so that what is broken since
     * then says nothing about them.
     */
    public boolean hasStoodStillWithin(long nanos) {
        stoodStill &= now - stoodStillAt < nanos;
        return stoodStill;
    }

    /** When the duty cycle began. */
    public long now() {
        return now;
    }

    /** The time within the duty cycle; never later than {@link #now()} of the next one. */
    public long read() {
        return now + Math.min(clock.getAsLong() - advancedAt, MAX_STEP_NANOS);
    }
}
