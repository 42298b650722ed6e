package io.farpage.agent.pins;

import io.farpage.agent.pins.Finding.Kind;
import io.farpage.posix.PosixException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/** Inspects the processes that have a guest's memory: the one that handed it over, and those that are found to map its file. One thread. */
final class PinInspector implements AutoCloseable {
    private final int vmm;
    private final MemoryOwners owners;
    private final List<VmmProcess> processes = new ArrayList<>();
    private Optional<Finding> unreadable = Optional.empty();

    /** @param vmm the process at the other end of the handoff's connection; 0 if the kernel does not say */
    PinInspector(int vmm, MemoryOwners owners) {
        this.vmm = vmm;
        this.owners = owners;
        find();
    }

    private void find() {
        Set<Integer> wanted = new TreeSet<>(owners.find());
        if (vmm > 0) {
            wanted.add(vmm);
        }
        unreadable = Optional.empty();
        for (int pid : wanted) {
            if (processes.stream().anyMatch(known -> known.pid() == pid)) {
                continue;
            }
            try {
                processes.add(VmmProcess.open(pid));
            } catch (PosixException e) {
                Finding refusal = VmmProcess.refusal(pid, e);
                unreadable = refusal.mayPin() ? Optional.of(refusal) : unreadable;
            }
        }
    }

    /** Looks at all descriptors of all of them, until one is found that may pin memory. */
    Finding look() {
        Finding found = lookAtKnown();
        if (found.kind() == Kind.GONE) {
            // A child may have the memory now.
            find();
            found = lookAtKnown();
        }
        return found.isClear() ? unreadable.orElse(found) : found;
    }

    private Finding lookAtKnown() {
        Finding all = processes.isEmpty()
                ? unreadable.orElse(new Finding(Kind.GONE, "no process is found that maps the memory"))
                : Finding.CLEAR;
        for (int i = processes.size() - 1; i >= 0; i--) {
            Finding found = processes.get(i).look();
            if (found.kind() == Kind.GONE) {
                processes.remove(i).close();
            }
            if (!found.isClear()) {
                all = found.mayPin() || all.isClear() ? found : all;
            }
        }
        return all;
    }

    @Override
    public void close() {
        processes.forEach(VmmProcess::close);
    }
}
