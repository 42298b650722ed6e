package io.farpage.agent.control.pins;

import java.time.Duration;

/**
 * What becomes of a guest whose VMM may pin its memory.
 *
 * @param mode at the handoff
 * @param linger how long pages stay after the last descriptor that may pin them was seen: I/O may be under way on a closed descriptor
 */
public record PinPolicy(Mode mode, Duration linger) {
    /** Whether the agent takes the memory of a VMM that may pin it. */
    public enum Mode {
        /** It does, and evicts nothing that may be pinned. */
        HOLD,
        /** It refuses the handoff. A descriptor that is opened later has eviction held. */
        REFUSE
    }
}
