package io.farpage.agent.control.pins;

import java.io.IOException;

/**
 * Watches the VMMs of all guests for pins. Thread-safe.
 *
 * @param policy for guests whose memory may be pinned
 * @param search finds the processes that have the memory of a guest
 */
public record PinWatches(PinPolicy policy, MappingSearch search) {
    /** With a search of its own. */
    public PinWatches(PinPolicy policy) {
        this(policy, new MappingSearch());
    }

    /** The same, but the memory of a VMM that may pin it is refused. */
    public PinWatches refusing() {
        return new PinWatches(new PinPolicy(PinPolicy.Mode.REFUSE, policy.linger()), search);
    }

    /** As {@link PinWatch#start}. */
    public PinWatch start(String space, int vmm, int file) throws IOException {
        return PinWatch.start(space, vmm, file, this);
    }
}
