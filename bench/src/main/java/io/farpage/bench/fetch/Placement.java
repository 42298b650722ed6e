package io.farpage.bench.fetch;

/** The CPU of each side's threads that move pages. */
record Placement(int nodeCpu, int homeCpu) {
    @Override
    public String toString() {
        return "node cpu " + nodeCpu + ", home cpu " + homeCpu;
    }
}
