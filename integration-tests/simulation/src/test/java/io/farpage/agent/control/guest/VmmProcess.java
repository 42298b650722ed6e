package io.farpage.agent.control.guest;

import io.farpage.it.simulation.guest.Handoffs;
import java.time.Duration;
import java.util.Optional;

/** In place of the class of the same name: simulated VMMs have processor time of their own. */
final class VmmProcess {
    private VmmProcess() {}

    static Optional<Duration> processorTime(int pid) {
        return Optional.of(Handoffs.processorTime(pid));
    }
}
