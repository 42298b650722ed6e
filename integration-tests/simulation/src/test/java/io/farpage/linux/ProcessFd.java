package io.farpage.linux;

import io.farpage.it.simulation.engine.Descriptors;
import io.farpage.it.simulation.engine.SocketHooks;
import io.farpage.it.simulation.guest.Handoffs;

/** In place of the class of the same name: descriptors of simulated VMMs and agents. */
public final class ProcessFd {
    private ProcessFd() {}

    public static SystemCall open(int pid) {
        return Handoffs.isVmm(pid) ? new SystemCall(Handoffs.openProcess(pid), 0) : SocketHooks.openProcess(pid);
    }

    public static boolean hasEnded(int process) {
        return Descriptors.isReadable(process);
    }
}
