package io.farpage.verbs.ibverbs;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import io.farpage.verbs.Gid;
import io.farpage.verbs.ibverbs.Structs.GidEntry;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/** The GIDs that a port has, and which of them to send from. */
final class GidTable {
    static final int TYPE_IB = 0;
    static final int TYPE_ROCE_V1 = 1;
    static final int TYPE_ROCE_V2 = 2;

    /**
     * An entry in use.
     *
     * @param index in its port's table
     * @param type {@code enum ibv_gid_type}
     */
    record Entry(int port, int index, int type, Gid gid) {}

    private GidTable() {}

    /**
     * Reads what is in use of all ports' tables in one call: SoftRoCE claims 1024 entries a port and uses two.
     *
     * @param capacity entries that all tables have together
     */
    static List<Entry> read(DeviceContext device, int capacity) {
        try (Arena arena = Arena.ofConfined()) {
            // One entry more than the tables have, since the kernel refuses a buffer that the entries would fill.
            MemorySegment raw = arena.allocate((capacity + 1L) * GidEntry.SIZE, 8);
            long count = device.library().queryGidTable(device.pointer(), raw, capacity + 1L);
            if (count < 0) {
                throw Failure.of("query_gid_table", device.name(), (int) -count, "the device has no table of GIDs");
            }
            List<Entry> entries = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                MemorySegment entry = raw.asSlice((long) i * GidEntry.SIZE, GidEntry.SIZE);
                entries.add(new Entry(
                        entry.get(JAVA_INT, GidEntry.PORT_NUM),
                        entry.get(JAVA_INT, GidEntry.GID_INDEX),
                        entry.get(JAVA_INT, GidEntry.GID_TYPE),
                        Gid.of(entry.asSlice(GidEntry.GID, 16).toArray(JAVA_BYTE))));
            }
            return entries;
        }
    }

    /**
     * The entry to use of {@code port}: RoCE v2 before v1, as only that is routed; of those IPv4 before global IPv6
     * before link-local; the first of equals.
     */
    static Optional<Entry> best(List<Entry> entries, int port) {
        return entries.stream()
                .filter(entry -> entry.port == port && !entry.gid.isZero())
                .min(Comparator.comparingInt(GidTable::rank).thenComparingInt(Entry::index));
    }

    /**
     * The entry with the GID and type of an earlier one, whatever its index is now; the best one of the port if there
     * is none.
     */
    static Optional<Entry> again(List<Entry> entries, Entry earlier) {
        return entries.stream()
                .filter(entry ->
                        entry.port == earlier.port && entry.type == earlier.type && entry.gid.equals(earlier.gid))
                .min(Comparator.comparingInt(Entry::index))
                .or(() -> best(entries, earlier.port));
    }

    private static int rank(Entry entry) {
        if (entry.type == TYPE_IB) {
            // InfiniBand has its subnet's GID first.
            return 0;
        }
        int address = entry.gid.isIpv4Mapped() ? 0 : entry.gid.isLinkLocal() ? 2 : 1;
        return (entry.type == TYPE_ROCE_V2 ? 0 : 3) + address;
    }
}
