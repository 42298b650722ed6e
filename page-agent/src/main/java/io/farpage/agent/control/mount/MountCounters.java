package io.farpage.agent.control.mount;

import java.util.concurrent.atomic.LongAdder;

/** What the mounts of an agent have given. Any thread. */
public final class MountCounters {
    private final MountShard shard;
    private final LongAdder reads = new LongAdder();
    private final LongAdder bytes = new LongAdder();
    private final LongAdder prefetchedBytes = new LongAdder();

    MountCounters(MountShard shard) {
        this.shard = shard;
    }

    /** The control plane has answered a read. */
    void read(int length) {
        reads.increment();
        bytes.add(length);
    }

    /** Bytes were put into the page cache before they were asked for. */
    void prefetched(long length) {
        prefetchedBytes.add(length);
    }

    /** Reads of the kernel that were answered. */
    public long reads() {
        return shard.reads() + reads.sum();
    }

    /** Bytes of these. */
    public long readBytes() {
        return shard.bytes() + bytes.sum();
    }

    /** Bytes that were put into the page cache before they were asked for. */
    public long prefetchedBytes() {
        return prefetchedBytes.sum();
    }
}
