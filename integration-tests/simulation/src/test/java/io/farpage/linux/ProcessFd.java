package io.farpage.linux;

import io.farpage.it.simulation.engine.Descriptors;
import io.farpage.it.simulation.guest.Handoffs;

/** In place of the class of the same name: descriptors of simulated VMMs. */
public final class ProcessFd {
    private ProcessFd() {}

    public static SystemCall open(int pid) {
        return new SystemCall(Handoffs.openProcess(pid), 0);
    }

    public static boolean hasEnded(int process) {
        return Descriptors.isReadable(process);
    }
}
