package io.farpage.pool;

import io.farpage.pool.header.PoolHeader;
import io.farpage.pool.hugepages.HugepageSize;
import java.util.OptionalInt;

/**
 * The configuration of a pool. The constructor checks it: IllegalArgumentException names the value and what is allowed.
 *
 * @param nodeId of the node whose pool it is; see {@link PoolHeader#isNodeId}
 * @param incarnation of its agent
 * @param exportedBytes length of the part that peers may read and write; a multiple of {@code frameBytes}, may be 0
 * @param stagingBytes length of the part that fetches land in; a multiple of {@code frameBytes}, may be 0
 * @param frameBytes page size; a power of two, 4 KiB … 2 MiB
 * @param hugepages whether hugetlb pages are wanted
 * @param hugepageSize which
 * @param lock whether {@code mlock(2)} must succeed
 * @param numaNode the memory node to bind to, if any
 */
public record PoolConfig(
        String nodeId,
        long incarnation,
        long exportedBytes,
        long stagingBytes,
        int frameBytes,
        HugepagePolicy hugepages,
        HugepageSize hugepageSize,
        LockPolicy lock,
        OptionalInt numaNode) {
    private static final int MAX_FRAME_BYTES = 2 << 20;
    private static final int MAX_NUMA_NODE = 1023;
    private static final long MAX_PART_BYTES = 1L << 46;
    private static final long MAX_FRAMES = Integer.MAX_VALUE - 63L;

    /** See {@link PoolConfig}. */
    public PoolConfig {
        if (!PoolHeader.isNodeId(nodeId)) {
            throw new IllegalArgumentException(
                    "node id \"%s\"; allowed: 1 … %d printable ASCII characters without space"
                            .formatted(nodeId, PoolHeader.MAX_NODE_ID));
        }
        if (frameBytes < 4096 || frameBytes > MAX_FRAME_BYTES || Integer.bitCount(frameBytes) != 1) {
            throw new IllegalArgumentException(
                    "page size %d; allowed: a power of two, 4096 … %d".formatted(frameBytes, MAX_FRAME_BYTES));
        }
        requirePart("exported", exportedBytes, frameBytes);
        requirePart("staging", stagingBytes, frameBytes);
        if (exportedBytes + stagingBytes == 0) {
            throw new IllegalArgumentException("exported and staging length are both 0; allowed: one of them");
        }
        if (numaNode.isPresent() && (numaNode.getAsInt() < 0 || numaNode.getAsInt() > MAX_NUMA_NODE)) {
            throw new IllegalArgumentException(
                    "NUMA node %d; allowed: 0 … %d".formatted(numaNode.getAsInt(), MAX_NUMA_NODE));
        }
    }

    /** 4 KiB frames, 2 MiB hugepages and locking preferred, no NUMA node. */
    public static PoolConfig of(String nodeId, long incarnation, long exportedBytes, long stagingBytes) {
        return new PoolConfig(
                nodeId,
                incarnation,
                exportedBytes,
                stagingBytes,
                4096,
                HugepagePolicy.PREFER,
                HugepageSize.TWO_MIB,
                LockPolicy.PREFER,
                OptionalInt.empty());
    }

    /** The same with another page size. */
    public PoolConfig withFrameBytes(int bytes) {
        return new PoolConfig(
                nodeId, incarnation, exportedBytes, stagingBytes, bytes, hugepages, hugepageSize, lock, numaNode);
    }

    /** The same with other hugepages. */
    public PoolConfig withHugepages(HugepagePolicy policy, HugepageSize size) {
        return new PoolConfig(
                nodeId, incarnation, exportedBytes, stagingBytes, frameBytes, policy, size, lock, numaNode);
    }

    /** The same with another lock policy. */
    public PoolConfig withLock(LockPolicy policy) {
        return new PoolConfig(
                nodeId,
                incarnation,
                exportedBytes,
                stagingBytes,
                frameBytes,
                hugepages,
                hugepageSize,
                policy,
                numaNode);
    }

    /** The same, bound to a NUMA node. */
    public PoolConfig withNumaNode(int node) {
        return new PoolConfig(
                nodeId,
                incarnation,
                exportedBytes,
                stagingBytes,
                frameBytes,
                hugepages,
                hugepageSize,
                lock,
                OptionalInt.of(node));
    }

    private static void requirePart(String part, long bytes, int frameBytes) {
        if (bytes < 0 || bytes > MAX_PART_BYTES || bytes % frameBytes != 0 || bytes / frameBytes > MAX_FRAMES) {
            throw new IllegalArgumentException("%s length %d; allowed: a multiple of the page size %d, 0 … %d"
                    .formatted(
                            part,
                            bytes,
                            frameBytes,
                            Math.min(MAX_PART_BYTES, MAX_FRAMES * frameBytes) / frameBytes * frameBytes));
        }
    }
}
