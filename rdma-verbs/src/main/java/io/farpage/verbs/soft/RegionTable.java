package io.farpage.verbs.soft;

import org.jspecify.annotations.Nullable;

/** The open regions of a protection domain by key: immutable, so that responders look up without a lock. */
final class RegionTable {
    static final RegionTable EMPTY = new RegionTable(new SoftMemoryRegion[0]);

    private final SoftMemoryRegion[] all;
    private final @Nullable SoftMemoryRegion[] slots;
    private final int mask;

    private RegionTable(SoftMemoryRegion[] all) {
        this.all = all;
        this.slots = new @Nullable SoftMemoryRegion[Integer.highestOneBit(all.length * 2 + 1) << 1];
        this.mask = slots.length - 1;
        for (SoftMemoryRegion region : all) {
            int at = region.rkey() & mask;
            while (slots[at] != null) {
                at = (at + 1) & mask;
            }
            slots[at] = region;
        }
    }

    /** The region with {@code key}, if there is one. Keys are random, so they are their own hash. */
    @Nullable
    SoftMemoryRegion find(int key) {
        int at = key & mask;
        SoftMemoryRegion region = slots[at];
        while (region != null && region.rkey() != key) {
            at = (at + 1) & mask;
            region = slots[at];
        }
        return region;
    }

    /**
     * Whether {@code key} opens {@code length} bytes at {@code address} for all of {@code accessBits}. Zero bytes need
     * no key.
     */
    boolean permits(int key, long address, int length, int accessBits) {
        if (length == 0) {
            return true;
        }
        SoftMemoryRegion region = find(key);
        return region != null && region.permits(address, length, accessBits);
    }

    int size() {
        return all.length;
    }

    RegionTable with(SoftMemoryRegion region) {
        SoftMemoryRegion[] more = java.util.Arrays.copyOf(all, all.length + 1);
        more[all.length] = region;
        return new RegionTable(more);
    }

    RegionTable without(SoftMemoryRegion region) {
        return new RegionTable(
                java.util.Arrays.stream(all).filter(r -> r != region).toArray(SoftMemoryRegion[]::new));
    }
}
