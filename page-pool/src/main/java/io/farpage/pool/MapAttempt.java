package io.farpage.pool;

import java.util.Optional;

/** How one try to get the pool's memory ended. */
sealed interface MapAttempt {
    /**
     * Mapped and populated; {@code unbound} is the reason why the memory is not bound to the NUMA node.
     *
     * @param file that is mapped; empty for memory of this process alone
     */
    record Mapped(Mapping mapping, Optional<BackingStep> unbound, Optional<PoolFile> file) implements MapAttempt {}

    /** Refused; nothing is left mapped. */
    record Refused(BackingStep.What what, String reason, PoolException failure) implements MapAttempt {
        BackingStep step() {
            return new BackingStep(what, reason, failure.fix());
        }
    }
}
