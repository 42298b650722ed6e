package io.farpage.verbs.soft;

/** The open regions of a protection domain. Read by any thread without a lock; changed under the domain's. */
final class Regions {
    private volatile RegionTable table = RegionTable.EMPTY;

    RegionTable table() {
        return table;
    }

    void add(SoftMemoryRegion region) {
        table = table.with(region);
    }

    void remove(SoftMemoryRegion region) {
        table = table.without(region);
    }
}
