package io.farpage.pool;

import io.farpage.pool.header.PoolHeader;
import io.farpage.pool.header.PoolHeaderException;

/** Whether memory that an earlier process has left is the pool that is configured. */
final class KeptPoolCheck {
    private KeptPoolCheck() {}

    /** Checks the length, which must be right before the file is mapped. */
    static void length(PoolConfig config, PoolFile kept) throws KeptPoolException {
        long expected = PoolLayout.of(config).fileBytes(kept.hugepages());
        if (kept.length() != expected) {
            throw KeptPoolException.of(
                    "it has %d bytes, and pool.exported %d with pool.staging %d needs %d"
                            .formatted(kept.length(), config.exportedBytes(), config.stagingBytes(), expected),
                    "set both as they were");
        }
        if (config.hugepages() == HugepagePolicy.REQUIRE
                && kept.hugepages()
                        .filter(size -> size == config.hugepageSize())
                        .isEmpty()) {
            throw KeptPoolException.of(
                    "pool.hugepages is require, and it is not made of hugepages of " + config.hugepageSize(),
                    "set pool.hugepages and pool.hugepage_size as they were");
        }
    }

    /** Reads what the pool says of itself, and checks that. */
    static PoolHeader identity(PoolConfig config, Mapping mapping) throws KeptPoolException {
        PoolHeader found;
        try {
            found = PoolHeader.readFrom(mapping.segment().asSlice(PoolLayout.IDENTITY_OFFSET, PoolHeader.BYTES));
        } catch (PoolHeaderException e) {
            throw KeptPoolException.of("its record is damaged: " + e.getMessage());
        }
        if (!found.nodeId().equals(config.nodeId())) {
            throw KeptPoolException.of(
                    "it is the pool of node '%s', and this is node '%s'".formatted(found.nodeId(), config.nodeId()),
                    "give each node a keeper of its own");
        }
        if (found.frameBytes() != config.frameBytes() || found.exportedBytes() != config.exportedBytes()) {
            throw KeptPoolException.of(
                    "it has %d exported bytes in pages of %d, and %d in pages of %d are configured"
                            .formatted(
                                    found.exportedBytes(),
                                    found.frameBytes(),
                                    config.exportedBytes(),
                                    config.frameBytes()),
                    "set pool.exported as it was");
        }
        return found;
    }
}
