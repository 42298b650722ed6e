package io.farpage.linux.fuse;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * A request of the kernel: {@code struct fuse_in_header}, and the structure of its operation behind it. Immutable.
 */
public final class FuseRequest {
    public static final int LOOKUP = 1;
    public static final int FORGET = 2;
    public static final int GETATTR = 3;
    public static final int OPEN = 14;
    public static final int READ = 15;
    public static final int STATFS = 17;
    public static final int RELEASE = 18;
    public static final int INIT = 26;
    public static final int OPENDIR = 27;
    public static final int READDIR = 28;
    public static final int RELEASEDIR = 29;
    public static final int INTERRUPT = 36;
    public static final int DESTROY = 38;
    public static final int BATCH_FORGET = 42;

    /** The node of the directory. */
    public static final long ROOT = 1;

    /** {@code struct fuse_in_header}. */
    static final int HEADER_BYTES = 40;

    /** {@code struct fuse_read_in}, and where two fields of it are. */
    static final int READ_BYTES = 40;

    static final int OFFSET_AT = 8;
    static final int SIZE_AT = 16;

    private final int operation;
    private final long unique;
    private final long node;
    private final byte[] body;

    /** @param body what is behind the header, native byte order; not copied */
    FuseRequest(int operation, long unique, long node, byte[] body) {
        this.operation = operation;
        this.unique = unique;
        this.node = node;
        this.body = body;
    }

    /**
     * The kernel has let go of a node.
     *
     * @param lookups how many look-ups that had named it are undone
     */
    public record Forgotten(long node, long lookups) {}

    /**
     * What the kernel offers when it begins.
     *
     * @param major version of the protocol
     * @param minor version
     * @param readahead bytes at most
     * @param flags of {@code fuse_init_in}, the second word in the upper half
     */
    public record Offer(int major, int minor, int readahead, long flags) {}

    /** A READ of a file. */
    public static FuseRequest read(long unique, long node, long offset, int size) {
        byte[] body = new byte[READ_BYTES];
        ByteBuffer.wrap(body)
                .order(ByteOrder.nativeOrder())
                .putLong(OFFSET_AT, offset)
                .putInt(SIZE_AT, size);
        return new FuseRequest(READ, unique, node, body);
    }

    /** One of the constants, or any other number. */
    public int operation() {
        return operation;
    }

    /** Names the request in its answer. */
    public long unique() {
        return unique;
    }

    /** The node that it concerns, as a look-up has named it; {@link #ROOT} for the directory. */
    public long node() {
        return node;
    }

    private ByteBuffer fields() {
        return ByteBuffer.wrap(body).order(ByteOrder.nativeOrder());
    }

    /** The name of a look-up. */
    public String name() {
        int end = 0;
        while (end < body.length && body[end] != 0) {
            end++;
        }
        return new String(body, 0, end, StandardCharsets.UTF_8);
    }

    /** Where a read begins: bytes of a file, or what the last entry of a directory has named. */
    public long offset() {
        return fields().getLong(OFFSET_AT);
    }

    /** How many bytes a read may answer. */
    public int size() {
        return fields().getInt(SIZE_AT);
    }

    /** The request whose caller is interrupted. */
    public long interrupted() {
        return fields().getLong(0);
    }

    /** The nodes of {@link #FORGET} or {@link #BATCH_FORGET}. */
    public List<Forgotten> forgotten() {
        ByteBuffer fields = fields();
        if (operation == FORGET) {
            return List.of(new Forgotten(node, fields.getLong()));
        }
        int count = fields.getInt();
        fields.getInt(); // padding
        List<Forgotten> all = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            all.add(new Forgotten(fields.getLong(), fields.getLong()));
        }
        return all;
    }

    /** What {@link #INIT} offers. */
    public Offer offer() {
        ByteBuffer fields = fields();
        int second = body.length >= 5 * Integer.BYTES ? fields.getInt(4 * Integer.BYTES) : 0;
        return new Offer(
                fields.getInt(0),
                fields.getInt(4),
                fields.getInt(8),
                (long) second << Integer.SIZE | Integer.toUnsignedLong(fields.getInt(12)));
    }
}
