package io.farpage.agent.control.guest;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * Whether a guest has been idle for a time. A guest whose memory is all resident takes no faults however busy it is, so
 * the processor time of its VMM counts as well. One thread.
 */
final class IdleWatch {
    /** Faults a second up to which a guest counts as idle: timers of an idle system touch pages now and then. */
    private static final double MAX_FAULTS = 2;

    /** Processor time up to which a VMM counts as idle, of one processor. */
    private static final double MAX_LOAD = 0.05;

    private final long afterNanos;
    private boolean hasBegun;
    private long idleSince;
    private long observedAt;
    private long faults;
    private long processorNanos;

    /** @param after how long a guest has to be idle; zero: no guest is ever idle */
    IdleWatch(Duration after) {
        afterNanos = after.toNanos();
    }

    /**
     * Takes the counts of a guest.
     *
     * @param now monotonic nanoseconds
     * @param faultsSoFar of the guest
     * @param processor time that its VMM has used so far; empty if that is not known, and the guest is not idle then
     * @return whether it has been idle for the whole time
     */
    boolean observe(long now, long faultsSoFar, Optional<Duration> processor) {
        long used = processor.map(Duration::toNanos).orElse(Long.MAX_VALUE);
        double seconds = (now - observedAt) / (double) TimeUnit.SECONDS.toNanos(1);
        boolean idle = hasBegun
                && processor.isPresent()
                && faultsSoFar - faults <= MAX_FAULTS * seconds
                && used - processorNanos <= MAX_LOAD * (now - observedAt);
        if (!idle) {
            idleSince = now;
        }
        hasBegun = true;
        observedAt = now;
        faults = faultsSoFar;
        processorNanos = used;
        return afterNanos > 0 && now - idleSince >= afterNanos;
    }
}
