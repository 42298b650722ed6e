package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.Optional;

/**
 * What a node's pool offers to others.
 *
 * @param exportedBytes bytes in which extents may lie, offset 0 being the first of them; the pool's header page is not
 *     among them. A multiple of 4096, 0 for none
 * @param pageSize of the memory that backs it: 4096, 2 MiB or 1 GiB
 * @param id incarnation of the agent that made the pool, by which extents and releases name it; empty: the incarnation
 *     that registers has made it
 */
public record PoolInfo(
        @JsonProperty(required = true) long exportedBytes,
        @JsonProperty(required = true) int pageSize,
        Optional<Incarnation> id) {

    /** Checks the fields. */
    public PoolInfo {
        if (pageSize != 4096 && pageSize != 1 << 21 && pageSize != 1 << 30) {
            throw new IllegalArgumentException("pageSize: %d is not 4096, 2097152 or 1073741824".formatted(pageSize));
        }
        Check.range("exportedBytes", exportedBytes, 0, 1L << 50);
        if (exportedBytes % 4096 != 0) {
            throw new IllegalArgumentException("exportedBytes: %d is not a multiple of 4096".formatted(exportedBytes));
        }
    }

    /** Whether another pool has the same size and pages of the same size. */
    public boolean hasShapeOf(PoolInfo other) {
        return exportedBytes == other.exportedBytes && pageSize == other.pageSize;
    }
}
