package io.farpage.agent.control.guest;

import java.time.Duration;
import java.util.Optional;

/** The process of a VMM. */
final class VmmProcess {
    private VmmProcess() {}

    /** Processor time that it has used; empty if that is not known. */
    static Optional<Duration> processorTime(int pid) {
        return ProcessHandle.of(pid).flatMap(vmm -> vmm.info().totalCpuDuration());
    }
}
