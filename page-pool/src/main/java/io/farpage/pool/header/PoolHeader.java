package io.farpage.pool.header;

import static io.farpage.pool.header.PoolHeaderException.Refusal.CHECKSUM;
import static io.farpage.pool.header.PoolHeaderException.Refusal.CONTENT;
import static io.farpage.pool.header.PoolHeaderException.Refusal.INCARNATION;
import static io.farpage.pool.header.PoolHeaderException.Refusal.LENGTH;
import static io.farpage.pool.header.PoolHeaderException.Refusal.MAGIC;
import static io.farpage.pool.header.PoolHeaderException.Refusal.NODE_ID;
import static io.farpage.pool.header.PoolHeaderException.Refusal.POOL;
import static io.farpage.pool.header.PoolHeaderException.Refusal.VERSION;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32C;

/**
 * The contents of the first page of a pool. An agent writes the header once, before it registers the page. A peer READs
 * it into its own memory when a link comes up, and refuses the link if it differs from what the coordinator published.
 *
 * <p>Fixed layout, little-endian, {@value #BYTES} bytes; the rest of the page is zero and means nothing:
 *
 * <pre>
 * offset size
 *      0    8  magic "FARPAGE" and a zero byte
 *      8    4  format version, 1
 *     12    4  length of the header, 128
 *     16    8  incarnation
 *     24    8  length of the exported part in bytes
 *     32    4  page (frame) size in bytes
 *     36    4  zero
 *     40   64  node id, ASCII, filled up with zeros; at least one
 *    104    8  pool: the incarnation that made it; zero where that is the one above, as in headers of agents before 0.4
 *    112   12  zero
 *    124    4  CRC-32C (Castagnoli) of bytes 0 … 123
 * </pre>
 *
 * @param nodeId 1 … 63 printable ASCII characters, no space
 * @param incarnation of that node's agent, any value
 * @param pool incarnation of the agent that made the pool, by which extents name it
 * @param frameBytes page size; a power of two, 4 KiB … 1 GiB
 * @param exportedBytes length of the exported part; not negative, a multiple of {@code frameBytes}
 */
public record PoolHeader(String nodeId, long incarnation, long pool, int frameBytes, long exportedBytes) {
    /** Length of the header, and the least that {@link #readFrom} accepts. */
    public static final int BYTES = 128;

    /** The longest node id, in characters. */
    public static final int MAX_NODE_ID = 63;

    private static final long MAGIC_VALUE = ByteBuffer.wrap("FARPAGE\0".getBytes(StandardCharsets.US_ASCII))
            .order(ByteOrder.LITTLE_ENDIAN)
            .getLong();
    private static final int VERSION_VALUE = 1;

    private static final int MAGIC_AT = 0;
    private static final int VERSION_AT = 8;
    private static final int LENGTH_AT = 12;
    private static final int INCARNATION_AT = 16;
    private static final int EXPORTED_AT = 24;
    private static final int FRAME_AT = 32;
    private static final int NODE_ID_AT = 40;
    private static final int POOL_AT = 104;
    private static final int CHECKSUM_AT = 124;

    /** Refuses, by IllegalArgumentException, what the format cannot hold. */
    public PoolHeader {
        if (!isNodeId(nodeId)) {
            throw new IllegalArgumentException(
                    "node id \"%s\"; allowed: 1 … %d printable ASCII characters without space"
                            .formatted(nodeId.replaceAll("[^ -~]", "?"), MAX_NODE_ID));
        }
        if (frameBytes < 4096 || Integer.bitCount(frameBytes) != 1) {
            throw new IllegalArgumentException(
                    "page size " + frameBytes + "; allowed: a power of two, 4096 … " + (1 << 30));
        }
        if (exportedBytes < 0 || exportedBytes % frameBytes != 0) {
            throw new IllegalArgumentException(
                    "exported length %d; allowed: a multiple of the page size %d".formatted(exportedBytes, frameBytes));
        }
    }

    /** The header of a pool that the agent itself has made. */
    public PoolHeader(String nodeId, long incarnation, int frameBytes, long exportedBytes) {
        this(nodeId, incarnation, incarnation, frameBytes, exportedBytes);
    }

    /** Whether a header can hold this node id. */
    public static boolean isNodeId(String text) {
        return !text.isEmpty() && text.length() <= MAX_NODE_ID && text.chars().allMatch(c -> c > ' ' && c < 0x7f);
    }

    /** Writes the header at the start of {@code page}, at least {@value #BYTES} bytes. */
    public void writeTo(MemorySegment page) {
        ByteBuffer bytes = ByteBuffer.allocate(BYTES).order(ByteOrder.LITTLE_ENDIAN);
        bytes.putLong(MAGIC_AT, MAGIC_VALUE)
                .putInt(VERSION_AT, VERSION_VALUE)
                .putInt(LENGTH_AT, BYTES)
                .putLong(INCARNATION_AT, incarnation)
                .putLong(EXPORTED_AT, exportedBytes)
                .putInt(FRAME_AT, frameBytes)
                .putLong(POOL_AT, pool == incarnation ? 0 : pool)
                .put(NODE_ID_AT, nodeId.getBytes(StandardCharsets.US_ASCII))
                .putInt(CHECKSUM_AT, checksum(bytes));
        MemorySegment.copy(MemorySegment.ofBuffer(bytes), 0, page, 0, BYTES);
    }

    /**
     * Reads a header, from this process's pool or as READ from a peer's. Works on a copy, so what changes under it
     * meanwhile cannot get past the checks.
     *
     * @param page at least {@value #BYTES} bytes
     * @throws PoolHeaderException naming what is wrong
     */
    public static PoolHeader readFrom(MemorySegment page) throws PoolHeaderException {
        if (page.byteSize() < BYTES) {
            throw new PoolHeaderException(
                    LENGTH, "header page of %d bytes, needs %d".formatted(page.byteSize(), BYTES));
        }
        ByteBuffer bytes = ByteBuffer.allocate(BYTES).order(ByteOrder.LITTLE_ENDIAN);
        MemorySegment.copy(page, 0, MemorySegment.ofBuffer(bytes), 0, BYTES);
        long magic = bytes.getLong(MAGIC_AT);
        if (magic != MAGIC_VALUE) {
            throw new PoolHeaderException(
                    MAGIC, "header page has magic 0x%016x, not 0x%016x: not a pool".formatted(magic, MAGIC_VALUE));
        }
        int version = bytes.getInt(VERSION_AT);
        if (version != VERSION_VALUE) {
            throw new PoolHeaderException(
                    VERSION,
                    "header page has format version %s, this build knows %d"
                            .formatted(Integer.toUnsignedString(version), VERSION_VALUE));
        }
        int sum = bytes.getInt(CHECKSUM_AT);
        if (sum != checksum(bytes)) {
            throw new PoolHeaderException(
                    CHECKSUM, "header page has checksum 0x%08x, its bytes give 0x%08x".formatted(sum, checksum(bytes)));
        }
        return decode(bytes);
    }

    /**
     * Checks that this is the header of the pool that one believes to have reached.
     *
     * @throws PoolHeaderException naming what is held and what was expected
     */
    public void verify(String expectedNodeId, long expectedIncarnation, long expectedPool) throws PoolHeaderException {
        verify(expectedNodeId, expectedIncarnation);
        if (pool != expectedPool) {
            throw new PoolHeaderException(
                    POOL,
                    "header page of node \"%s\" is of pool %016x, expected %016x"
                            .formatted(nodeId, pool, expectedPool));
        }
    }

    /** As {@link #verify(String, long, long)}, whatever the pool. */
    public void verify(String expectedNodeId, long expectedIncarnation) throws PoolHeaderException {
        if (!nodeId.equals(expectedNodeId)) {
            throw new PoolHeaderException(
                    NODE_ID, "header page is of node \"%s\", expected \"%s\"".formatted(nodeId, expectedNodeId));
        }
        if (incarnation != expectedIncarnation) {
            throw new PoolHeaderException(
                    INCARNATION,
                    "header page of node \"%s\" has incarnation %016x, expected %016x"
                            .formatted(nodeId, incarnation, expectedIncarnation));
        }
    }

    private static PoolHeader decode(ByteBuffer bytes) throws PoolHeaderException {
        int length = bytes.getInt(LENGTH_AT);
        if (length != BYTES) {
            throw new PoolHeaderException(CONTENT, "header page says its header has %d bytes".formatted(length));
        }
        byte[] id = new byte[MAX_NODE_ID + 1];
        bytes.get(NODE_ID_AT, id);
        // Latin-1 keeps every byte as it is, for the check and the message; strip nothing but the zeros at the end.
        String nodeId = new String(id, StandardCharsets.ISO_8859_1).replaceFirst("\0+$", "");
        try {
            long incarnation = bytes.getLong(INCARNATION_AT);
            long pool = bytes.getLong(POOL_AT);
            return new PoolHeader(
                    nodeId,
                    incarnation,
                    pool == 0 ? incarnation : pool,
                    bytes.getInt(FRAME_AT),
                    bytes.getLong(EXPORTED_AT));
        } catch (IllegalArgumentException e) {
            throw new PoolHeaderException(CONTENT, "header page: " + e.getMessage());
        }
    }

    private static int checksum(ByteBuffer bytes) {
        CRC32C crc = new CRC32C();
        crc.update(bytes.slice(0, CHECKSUM_AT));
        return (int) crc.getValue();
    }
}
