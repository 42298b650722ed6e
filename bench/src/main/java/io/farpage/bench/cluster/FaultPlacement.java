package io.farpage.bench.cluster;

import java.util.List;

/** The CPU of what resolves faults, of what serves pages, and of what touches memory. */
public record FaultPlacement(int handlerCpu, int homeCpu, int toucherCpu) {
    /**
     * Blocking, all share a CPU: a wake-up across CPUs takes longer than the fetch. Spinning, the toucher has a CPU of
     * its own if there is one. Otherwise it shares the handler's, which does nothing while the toucher runs.
     *
     * @param cpus to run on, two at least if {@code idle} needs two
     */
    public static FaultPlacement of(Idle idle, List<Integer> cpus) {
        int first = cpus.getFirst();
        return idle.needsTwoCpus()
                ? new FaultPlacement(first, cpus.get(1), cpus.size() > 2 ? cpus.get(2) : first)
                : new FaultPlacement(first, first, first);
    }

    /**
     * The same, with what touches memory on another CPU than the handler, if there are two: two guests keep a handler
     * busy, and one that is scheduled before them leaves them none of its CPU.
     */
    public FaultPlacement withGuestsApart(List<Integer> cpus) {
        return toucherCpu != handlerCpu || cpus.size() < 2
                ? this
                : new FaultPlacement(handlerCpu, homeCpu, cpus.get(1));
    }

    @Override
    public String toString() {
        return "handler cpu " + handlerCpu + ", home cpu " + homeCpu + ", toucher cpu " + toucherCpu;
    }
}
