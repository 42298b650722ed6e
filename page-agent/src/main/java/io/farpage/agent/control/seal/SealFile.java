package io.farpage.agent.control.seal;

import io.farpage.agent.data.seal.SealTable;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Tags and versions of a space's pages in a file, between two attachments. The file is encrypted and authenticated with
 * a key of its own, which is derived from the space's key and the mark: 128 random bits that name this file among all
 * of the space. It is written whole, in place of the one before.
 */
final class SealFile {
    static final int MARK_BYTES = 16;
    static final int SALT_BYTES = 16;

    private static final byte[] MAGIC = "FPSEAL01".getBytes(StandardCharsets.US_ASCII);
    private static final int HEADER_BYTES = MAGIC.length + 2 * Long.BYTES + Integer.BYTES + MARK_BYTES;
    private static final String PURPOSE = "farpage seal file";
    private static final int RUN = 4096;
    private static final long END = -1;
    private static final FileAttribute<Set<PosixFilePermission>> PRIVATE =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));

    /**
     * What the file is of, in its clear but authenticated header.
     *
     * @param mark 32 hex digits
     */
    record Header(long space, long pages, int pageBytes, String mark) {
        byte[] salt() {
            return HexFormat.of().parseHex(mark);
        }

        byte[] bytes() {
            return ByteBuffer.allocate(HEADER_BYTES)
                    .put(MAGIC)
                    .putLong(space)
                    .putLong(pages)
                    .putInt(pageBytes)
                    .put(salt())
                    .array();
        }
    }

    /**
     * What is in the file.
     *
     * @param salts of the keys that pages are sealed with, by generation
     */
    record Contents(SealTable table, SortedMap<Integer, byte[]> salts) {}

    private SealFile() {}

    /** Writes a file and syncs it to disk before it replaces the earlier file. */
    static void write(Path file, Header header, SpaceKey key, Contents contents) throws IOException {
        Path part = file.resolveSibling(file.getFileName() + ".part");
        Files.deleteIfExists(part);
        byte[] own = key.derive(header.salt(), PURPOSE, header.space());
        try (FileChannel channel =
                FileChannel.open(part, Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE), PRIVATE)) {
            BufferedOutputStream to = new BufferedOutputStream(Channels.newOutputStream(channel), 1 << 16);
            to.write(header.bytes());
            try (DataOutputStream body = new Chunks(own, header.bytes()).to(to)) {
                write(body, contents);
            }
            to.flush();
            channel.force(true);
        } catch (IOException | RuntimeException e) {
            Files.deleteIfExists(part);
            throw e;
        } finally {
            Arrays.fill(own, (byte) 0);
        }
        Files.move(part, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        sync(file);
    }

    /** Syncs the directory of a file, so that a rename or removal in it is durable. */
    static void sync(Path file) throws IOException {
        try (FileChannel directory = FileChannel.open(file.toAbsolutePath().getParent(), StandardOpenOption.READ)) {
            directory.force(true);
        }
    }

    private static void write(DataOutputStream body, Contents contents) throws IOException {
        body.writeInt(contents.salts().size());
        for (Map.Entry<Integer, byte[]> each : contents.salts().entrySet()) {
            body.writeInt(each.getKey());
            body.write(each.getValue());
        }
        SealTable table = contents.table();
        long page = 0;
        while (page < table.pages()) {
            int run = 0;
            while (run < RUN && page + run < table.pages() && table.version(page + run) != 0) {
                run++;
            }
            if (run == 0) {
                page++;
                continue;
            }
            body.writeLong(page);
            body.writeInt(run);
            body.write(table.entries(page, run).toArray(ValueLayout.JAVA_BYTE));
            page += run;
        }
        body.writeLong(END);
    }

    /** The header of a file, before its contents have shown it to be genuine. */
    static Header header(Path file) throws IOException, SealException {
        try (InputStream from = Files.newInputStream(file)) {
            return header(from, file);
        }
    }

    private static Header header(InputStream from, Path file) throws IOException, SealException {
        byte[] bytes = from.readNBytes(HEADER_BYTES);
        if (bytes.length < HEADER_BYTES || Arrays.mismatch(bytes, MAGIC) < MAGIC.length) {
            throw new SealException(
                    file + " is not a file with tags of pages, or is of a newer version of this program");
        }
        ByteBuffer fields = ByteBuffer.wrap(bytes).position(MAGIC.length);
        byte[] mark = new byte[MARK_BYTES];
        long space = fields.getLong();
        long pages = fields.getLong();
        int pageBytes = fields.getInt();
        fields.get(mark);
        return new Header(space, pages, pageBytes, HexFormat.of().formatHex(mark));
    }

    /**
     * Reads a file.
     *
     * @param expected what the file must be of; its mark is not looked at
     * @throws SealException if the file is of another space, or not as it was written
     */
    static Contents read(Path file, Header expected, SpaceKey key) throws IOException, SealException {
        try (InputStream from = new BufferedInputStream(Files.newInputStream(file), 1 << 16)) {
            Header header = header(from, file);
            if (header.space() != expected.space()
                    || header.pages() != expected.pages()
                    || header.pageBytes() != expected.pageBytes()) {
                throw new SealException("%s is of space %d with %d pages of %d bytes, not of space %d with %d of %d"
                        .formatted(
                                file,
                                header.space(),
                                header.pages(),
                                header.pageBytes(),
                                expected.space(),
                                expected.pages(),
                                expected.pageBytes()));
            }
            byte[] own = key.derive(header.salt(), PURPOSE, header.space());
            SealTable table = new SealTable(header.pages());
            boolean done = false;
            try (DataInputStream body = new Chunks(own, header.bytes()).from(from)) {
                Contents contents = new Contents(table, salts(body));
                entries(body, table);
                done = true;
                return contents;
            } catch (Chunks.DamagedException e) {
                throw new SealException("%s is damaged: %s".formatted(file, e.getMessage()), e);
            } finally {
                Arrays.fill(own, (byte) 0);
                if (!done) {
                    table.close();
                }
            }
        }
    }

    private static SortedMap<Integer, byte[]> salts(DataInputStream body) throws IOException {
        SortedMap<Integer, byte[]> salts = new TreeMap<>();
        for (int left = body.readInt(); left > 0; left--) {
            int generation = body.readInt();
            byte[] salt = new byte[SALT_BYTES];
            body.readFully(salt);
            salts.put(generation, salt);
        }
        return salts;
    }

    private static void entries(DataInputStream body, SealTable table) throws IOException {
        byte[] run = new byte[RUN * SealTable.ENTRY_BYTES];
        for (long page = body.readLong(); page != END; page = body.readLong()) {
            int count = body.readInt();
            int bytes = count * SealTable.ENTRY_BYTES;
            body.readFully(run, 0, bytes);
            MemorySegment.copy(run, 0, table.entries(page, count), ValueLayout.JAVA_BYTE, 0, bytes);
        }
    }
}
