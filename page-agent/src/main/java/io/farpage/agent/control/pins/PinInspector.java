package io.farpage.agent.control.pins;

import io.farpage.agent.control.pins.Finding.Kind;
import io.farpage.linux.PosixException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeSet;

/**
 * Inspects the processes that have a guest's memory: the one that handed it over, and others that map its file. One
 * thread.
 */
final class PinInspector implements AutoCloseable {
    private final int vmm;
    private final MemoryOwners owners;
    private final List<VmmProcess> processes = new ArrayList<>();
    private Optional<Finding> unreadable = Optional.empty();
    private Optional<Finding> unserved = Optional.empty();

    /**
     * Looks for processes that map the memory, also for those that are not served.
     *
     * @param vmm the process at the other end of the handoff's connection; 0 if the kernel does not say
     */
    PinInspector(int vmm, MemoryOwners owners) {
        this.vmm = vmm;
        this.owners = owners;
        Set<Integer> found = owners.now();
        open(found);
        judge(found);
    }

    /** Looks for processes that map the memory and are not served, as they were in the last seconds. */
    void lookForOthers() {
        judge(owners.lately());
    }

    /** Which process maps the memory and is not served; empty if none was found. */
    Optional<String> unserved() {
        return unserved.map(Finding::detail);
    }

    private void judge(Set<Integer> found) {
        OptionalInt other = vmm > 0 ? owners.unserved(found, vmm) : OptionalInt.empty();
        unserved = other.isEmpty()
                ? Optional.empty()
                : Optional.of(new Finding(
                        Kind.UNSERVED,
                        "process " + other.getAsInt() + " maps the memory besides its VMM, process " + vmm
                                + ", and is not served: pages that are not resident read there as zeros, which the"
                                + " guest may find then; use no vhost-user device and no virtiofsd"));
    }

    private void open(Set<Integer> found) {
        Set<Integer> wanted = new TreeSet<>(found);
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

    /**
     * Scans the descriptors of all processes until one is found that may pin memory.
     *
     * @param inspection its number, above that of the one before
     */
    Finding scan(long inspection) {
        Finding found = scanKnown(inspection);
        if (found.kind() == Kind.GONE) {
            // A child process may map the memory now.
            open(owners.now());
            found = scanKnown(inspection);
        }
        return found.isClearOrBusy() ? unserved.or(() -> unreadable).orElse(found) : found;
    }

    private Finding scanKnown(long inspection) {
        Finding all = processes.isEmpty()
                ? unreadable.orElse(new Finding(Kind.GONE, "no process is found that maps the memory"))
                : Finding.CLEAR;
        for (int i = processes.size() - 1; i >= 0; i--) {
            Finding found = processes.get(i).scan(inspection);
            if (found.kind() == Kind.GONE) {
                processes.remove(i).close();
            }
            if (!found.isClear()) {
                all = found.mayPin() || all.isClearOrBusy() ? found : all;
            }
        }
        return all;
    }

    /**
     * If the latest scan found a ring locked: examines locked rings again.
     *
     * @return whether each has been seen idle since that scan began, so that the scan was clear
     */
    boolean areRingsIdle() {
        boolean idle = true;
        for (int i = 0; i < processes.size(); i++) {
            idle &= processes.get(i).areRingsIdle();
        }
        return idle;
    }

    /**
     * If the latest scan was clear or found a ring locked: the inspection since whose beginning every ring has been
     * seen idle.
     */
    long provenSince() {
        long proven = Long.MAX_VALUE;
        for (int i = 0; i < processes.size(); i++) {
            proven = Math.min(proven, processes.get(i).provenSince());
        }
        return processes.isEmpty() ? 0 : proven;
    }

    /** Whether the latest scan found an io_uring. */
    boolean hasRings() {
        for (int i = 0; i < processes.size(); i++) {
            if (processes.get(i).hasRings()) {
                return true;
            }
        }
        return false;
    }

    @Override
    public void close() {
        processes.forEach(VmmProcess::close);
        owners.close();
    }
}
