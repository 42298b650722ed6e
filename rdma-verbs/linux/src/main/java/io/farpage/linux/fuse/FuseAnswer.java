package io.farpage.linux.fuse;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.List;

/** The structures of answers. */
public final class FuseAnswer {
    /** The version that these structures have. */
    private static final int MAJOR = 7;

    private static final int MINOR = 31;

    private static final long ASYNC_READ = 1;
    private static final long PARALLEL_DIROPS = 1 << 18;
    private static final long MAX_PAGES = 1 << 22;
    private static final long INIT_EXT = 1 << 30;
    /** The kernel repeats requests that a server has taken and not answered. */
    private static final long HAS_RESEND = 1L << 39;

    private static final long WANTED = ASYNC_READ | PARALLEL_DIROPS | MAX_PAGES | INIT_EXT | HAS_RESEND;

    private static final int FOPEN_KEEP_CACHE = 2;
    private static final int MAX_BACKGROUND = 64;
    private static final int MAX_WRITE = 4096;
    private static final int PAGE = 4096;
    private static final int SECTOR = 512;
    private static final int S_IFDIR = 0040000;
    private static final int S_IFREG = 0100000;
    private static final int DT_DIR = 4;
    private static final int DT_REG = 8;

    private static final int INIT_BYTES = 64;
    private static final int ATTRIBUTES_BYTES = 88;
    private static final int ENTRY_BYTES = 40;
    private static final int VALIDITY_BYTES = 16;
    private static final int OPEN_BYTES = 16;
    private static final int STATFS_BYTES = 80;
    private static final int DIRENT_BYTES = 24;
    private static final int NAME_MAX = 255;

    private FuseAnswer() {}

    /**
     * A file or the directory.
     *
     * @param node its number
     * @param size bytes
     * @param changed when it was made; it never changes
     * @param isDirectory whether it is the directory
     * @param mode permission bits
     * @param user its owner
     * @param group its group
     */
    public record Attributes(
            long node, long size, Instant changed, boolean isDirectory, int mode, int user, int group) {}

    /**
     * A name in the directory.
     *
     * @param node that it leads to
     */
    public record Entry(String name, long node, boolean isDirectory) {}

    private static ByteBuffer structure(int bytes) {
        return ByteBuffer.allocate(bytes).order(ByteOrder.nativeOrder());
    }

    /**
     * Begins a file system.
     *
     * @param readahead bytes that the kernel may read before they are asked for; no READ is larger than that or a page
     * @throws IllegalArgumentException if the kernel's protocol is older than these structures
     */
    public static byte[] init(FuseRequest.Offer offer, int readahead) {
        if (offer.major() != MAJOR || offer.minor() < MINOR) {
            throw new IllegalArgumentException("the kernel's FUSE protocol is %d.%d; %d.%d or a later %d.x is needed"
                    .formatted(offer.major(), offer.minor(), MAJOR, MINOR, MAJOR));
        }
        long flags = offer.flags() & WANTED;
        return structure(INIT_BYTES)
                .putInt(MAJOR)
                .putInt(MINOR)
                .putInt(Math.min(readahead, offer.readahead()))
                .putInt((int) flags)
                .putShort((short) MAX_BACKGROUND)
                .putShort((short) (MAX_BACKGROUND * 3 / 4))
                .putInt(MAX_WRITE)
                .putInt(1)
                .putShort((short) Math.max(1, readahead / PAGE))
                .putShort((short) 0)
                .putInt((int) (flags >>> Integer.SIZE))
                .array();
    }

    /** What a look-up has found; it stays right until the kernel is told otherwise. */
    public static byte[] entry(Attributes found) {
        ByteBuffer entry = structure(ENTRY_BYTES + ATTRIBUTES_BYTES)
                .putLong(found.node())
                .putLong(0)
                .putLong(Integer.MAX_VALUE)
                .putLong(Integer.MAX_VALUE)
                .putInt(0)
                .putInt(0);
        return put(entry, found).array();
    }

    /** What a file is; it never changes. */
    public static byte[] attributes(Attributes of) {
        return put(
                        structure(VALIDITY_BYTES + ATTRIBUTES_BYTES)
                                .putLong(Integer.MAX_VALUE)
                                .putLong(0),
                        of)
                .array();
    }

    private static ByteBuffer put(ByteBuffer to, Attributes of) {
        long seconds = of.changed().getEpochSecond();
        return to.putLong(of.node())
                .putLong(of.size())
                .putLong(of.size() / SECTOR)
                .putLong(seconds)
                .putLong(seconds)
                .putLong(seconds)
                .putInt(0)
                .putInt(0)
                .putInt(0)
                .putInt((of.isDirectory() ? S_IFDIR : S_IFREG) | of.mode())
                .putInt(of.isDirectory() ? 2 : 1)
                .putInt(of.user())
                .putInt(of.group())
                .putInt(0)
                .putInt(PAGE)
                .putInt(0);
    }

    /** An open file. What the kernel has of it in its page cache stays right. */
    public static byte[] opened() {
        return structure(OPEN_BYTES).putLong(0).putInt(FOPEN_KEEP_CACHE).array();
    }

    /** An open directory. */
    public static byte[] openedDirectory() {
        return new byte[OPEN_BYTES];
    }

    /** A file system without figures. */
    public static byte[] statfs() {
        return structure(STATFS_BYTES)
                .putInt(5 * Long.BYTES, PAGE)
                .putInt(5 * Long.BYTES + Integer.BYTES, NAME_MAX)
                .putInt(5 * Long.BYTES + 2 * Integer.BYTES, PAGE)
                .array();
    }

    /**
     * The entries of a directory from the {@code first}th on, as far as they fit.
     *
     * @param most bytes
     */
    public static byte[] directory(List<Entry> all, long first, int most) {
        ByteBuffer entries = structure(most);
        for (int i = (int) Math.min(first, all.size()); i < all.size(); i++) {
            Entry entry = all.get(i);
            byte[] name = entry.name().getBytes(StandardCharsets.UTF_8);
            int length = (DIRENT_BYTES + name.length + Long.BYTES - 1) & -Long.BYTES;
            if (entries.remaining() < length) {
                break;
            }
            int begin = entries.position();
            entries.putLong(entry.node())
                    .putLong(i + 1)
                    .putInt(name.length)
                    .putInt(entry.isDirectory() ? DT_DIR : DT_REG)
                    .put(name)
                    .position(begin + length);
        }
        byte[] answer = new byte[entries.position()];
        entries.get(0, answer);
        return answer;
    }
}
