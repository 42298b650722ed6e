package io.farpage.agent.control.pins;

import io.farpage.agent.control.pins.Finding.Kind;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * Whether a guest's memory may have been pinned, for a guest that has no use for a later answer: what was found once
 * holds for good. A process that only opens, closes and ends threads too fast to be inspected is given some time. The
 * inspecting thread's only, but for {@link #reason}.
 */
final class PinVerdict {
    /** How long inspections may be inconclusive. */
    static final long UNKNOWN_NANOS = TimeUnit.SECONDS.toNanos(5);

    private volatile Optional<String> reason = Optional.empty();
    private boolean unknown;
    private long sinceNanos;

    /**
     * Evaluates an inspection.
     *
     * @param conclusive whether it says that nothing pins the memory, or what may
     * @param now monotonic nanoseconds
     */
    void judge(Finding found, boolean conclusive, long now) {
        // A process that is gone no longer writes to its memory.
        boolean isUnknown = !conclusive && found.kind() != Kind.GONE;
        if (isUnknown && !unknown) {
            sinceNanos = now;
        }
        unknown = isUnknown;
        if (reason.isEmpty() && (found.mayPin() || (unknown && now - sinceNanos > UNKNOWN_NANOS))) {
            reason = Optional.of(found.detail());
        }
    }

    /** What may pin the memory, or why that is unknown for too long; empty if neither was ever so. Any thread. */
    Optional<String> reason() {
        return reason;
    }
}
