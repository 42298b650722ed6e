package io.farpage.verbs.ibverbs;

import io.farpage.verbs.Gid;
import io.farpage.verbs.ibverbs.GidTable.Entry;
import java.util.List;
import java.util.function.Supplier;

/**
 * The GID that the queue pairs of a port are addressed by, and its index in the port's table. An index that is
 * configured stays. A GID that was chosen is found again wherever it is: the kernel does not reuse the index of an
 * address that was removed as long as a queue pair holds the entry, so the same address comes back at another index.
 * Thread-safe.
 */
final class SourceGid {
    private final Supplier<Entry> now;

    private SourceGid(Supplier<Entry> now) {
        this.now = now;
    }

    /** Whatever GID is at a configured index. */
    static SourceGid configured(int port, int index, Supplier<Gid> query) {
        return new SourceGid(() -> new Entry(port, index, GidTable.TYPE_IB, query.get()));
    }

    /** A chosen GID; while the port does not have it, the best that the port has. */
    static SourceGid chosen(Entry chosen, Supplier<List<Entry>> table) {
        return new SourceGid(() -> GidTable.again(table.get(), chosen)
                .orElse(new Entry(chosen.port(), chosen.index(), chosen.type(), Gid.ZERO)));
    }

    /** Reads it. The GID is all zeros if there is none. */
    Entry read() {
        return now.get();
    }
}
