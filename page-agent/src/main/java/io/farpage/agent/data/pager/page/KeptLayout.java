package io.farpage.agent.data.pager.page;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Where a guest's memory is mapped since its VMM has unmapped or moved a part of it, in memory that outlives this
 * process. It has two slots: a layout is written to the one that does not count, and then one store makes it count. To
 * move a range twice would give another result than to move it once. So a slot names the message of the kernel that it
 * follows from, until that message is blanked.
 *
 * <pre>
 * offset size
 *      0    4  which slot counts: 1 or 2; 0 for the layout that was handed over
 *     64       two slots:
 *   + 0    4  regions
 *   + 4    4  1 + index of the message; 0 once that is blanked
 *   + 8       of each region: its address, length and offset, 8 bytes each
 * </pre>
 *
 * <p>One thread.
 */
final class KeptLayout {
    private static final int SLOTS_AT = 64;
    private static final int MESSAGE_AT = 4;
    private static final int REGIONS_AT = 8;
    private static final int REGION_BYTES = 24;

    private final MemorySegment memory;
    private final long slotBytes;

    /** @param memory aligned to 8 bytes; zeros, or what an earlier process has left */
    KeptLayout(MemorySegment memory) {
        this.memory = memory;
        slotBytes = (memory.byteSize() - SLOTS_AT) / 2 & -Long.BYTES;
    }

    /** The most regions that there is room for. */
    int capacity() {
        return (int) ((slotBytes - REGIONS_AT) / REGION_BYTES);
    }

    private long slot(int number) {
        return SLOTS_AT + (number - 1) * slotBytes;
    }

    private int current() {
        return memory.get(JAVA_INT, 0);
    }

    /** The regions; empty if they are those that were handed over. */
    Optional<List<GuestRegion>> regions() {
        if (current() == 0) {
            return Optional.empty();
        }
        long slot = slot(current());
        List<GuestRegion> regions = new ArrayList<>();
        for (int i = 0; i < memory.get(JAVA_INT, slot); i++) {
            long at = slot + REGIONS_AT + (long) i * REGION_BYTES;
            regions.add(new GuestRegion(
                    memory.get(JAVA_LONG, at), memory.get(JAVA_LONG, at + 8), memory.get(JAVA_LONG, at + 16)));
        }
        return Optional.of(regions);
    }

    /** Whether it follows from a message that may not be blanked yet. */
    boolean follows(int message) {
        return current() != 0 && memory.get(JAVA_INT, slot(current()) + MESSAGE_AT) == message + 1;
    }

    /**
     * Replaces the layout.
     *
     * @param message from which the layout follows
     * @return whether there is room for it; if not, the layout before stays
     */
    boolean write(List<GuestRegion> regions, int message) {
        if (regions.size() > capacity()) {
            return false;
        }
        int other = current() == 1 ? 2 : 1;
        long slot = slot(other);
        memory.set(JAVA_INT, slot, regions.size());
        memory.set(JAVA_INT, slot + MESSAGE_AT, message + 1);
        for (int i = 0; i < regions.size(); i++) {
            GuestRegion region = regions.get(i);
            long at = slot + REGIONS_AT + (long) i * REGION_BYTES;
            memory.set(JAVA_LONG, at, region.hostAddress());
            memory.set(JAVA_LONG, at + 8, region.length());
            memory.set(JAVA_LONG, at + 16, region.offset());
        }
        VarHandle.storeStoreFence();
        memory.set(JAVA_INT, 0, other);
        VarHandle.storeStoreFence();
        return true;
    }

    /** The message is blanked. To be called before others are read, since one of those has the same index. */
    void blanked() {
        if (current() != 0) {
            VarHandle.storeStoreFence();
            memory.set(JAVA_INT, slot(current()) + MESSAGE_AT, 0);
            VarHandle.storeStoreFence();
        }
    }

    /**
     * Whether it may be a layout of this memory.
     *
     * @param bytes of the memory
     */
    boolean isSound(long bytes, int pageBytes) {
        int current = current();
        if (current < 0 || current > 2) {
            return false;
        }
        if (current == 0) {
            return true;
        }
        int count = memory.get(JAVA_INT, slot(current));
        return count >= 0
                && count <= capacity()
                && regions().orElseThrow().stream().allMatch(region -> region.isSound(bytes, pageBytes));
    }
}
