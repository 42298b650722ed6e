package io.farpage.pool;

import io.farpage.pool.hugepages.HugepageSize;
import java.util.Optional;

/**
 * Where the parts lie in the mapping. The header has the first 2 MiB for itself and uses {@value #HEADER_BYTES} bytes
 * of them: the exported part must start at a multiple of 2 MiB, and staging frames in the gap would put memory that
 * peers must never reach into the hugepage that every peer may read. With base pages the gap costs address space only.
 */
record PoolLayout(long exportedBytes, long stagingBytes) {
    /** Length of the header region, whatever the base page size. */
    static final int HEADER_BYTES = 4096;

    /**
     * Where a pool in a file says what it is, for the agent that adopts it: after the header page, and out of the reach
     * of peers.
     */
    static final int IDENTITY_OFFSET = HEADER_BYTES;

    /** Every part's mapping starts at a multiple of this. */
    static final long ALIGNMENT = HugepageSize.TWO_MIB.bytes();

    static PoolLayout of(PoolConfig config) {
        return new PoolLayout(config.exportedBytes(), config.stagingBytes());
    }

    static long exportedOffset() {
        return ALIGNMENT;
    }

    long stagingOffset() {
        return exportedOffset() + exportedBytes;
    }

    /** Length of exported and staging part together. */
    long bodyBytes() {
        return exportedBytes + stagingBytes;
    }

    long bytes() {
        return exportedOffset() + bodyBytes();
    }

    /** Length of a file that holds it. */
    long fileBytes(Optional<HugepageSize> hugepages) {
        return hugepages.map(size -> hugepages(size) * size.bytes()).orElse(bytes());
    }

    /** How many hugepages hold all of it. */
    long hugepages(HugepageSize size) {
        return size.pagesFor(bytes());
    }
}
