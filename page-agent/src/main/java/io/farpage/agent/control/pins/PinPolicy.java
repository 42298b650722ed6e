package io.farpage.agent.control.pins;

import java.time.Duration;

/**
 * The policy for guests whose VMM may pin their memory.
 *
 * @param mode at the handoff
 * @param linger how long pages stay after the last descriptor that may pin them was seen: I/O may be under way on a
 *     closed descriptor
 */
public record PinPolicy(Mode mode, Duration linger) {
    /** Whether the agent takes the memory of a VMM that may pin it. */
    public enum Mode {
        /** Accepts it, and evicts no page that may be pinned. */
        HOLD,
        /** Refuses the handoff. A descriptor that is opened later suspends eviction. */
        REFUSE
    }
}
