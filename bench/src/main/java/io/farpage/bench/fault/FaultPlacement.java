package io.farpage.bench.fault;

/** The CPU of what resolves faults, of what serves pages, and of what touches memory. */
record FaultPlacement(int handlerCpu, int homeCpu, int toucherCpu) {
    @Override
    public String toString() {
        return "handler cpu " + handlerCpu + ", home cpu " + homeCpu + ", toucher cpu " + toucherCpu;
    }
}
