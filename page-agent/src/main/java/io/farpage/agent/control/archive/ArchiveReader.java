package io.farpage.agent.control.archive;

import io.farpage.rest.Json;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.zip.ZipEntry;
import java.util.zip.ZipException;
import java.util.zip.ZipInputStream;
import org.jspecify.annotations.Nullable;

/**
 * Reads an archive, in the order of its entries. No more is taken into memory than an entry may have, whatever a
 * damaged archive says. One thread.
 */
final class ArchiveReader {
    private static final int MAX_JSON = 64 << 10;

    private final ZipInputStream zip;
    private final ArchiveHeader header;

    /**
     * Reads the header.
     *
     * @throws IOException if it is damaged, or not an archive
     */
    ArchiveReader(InputStream from) throws IOException {
        zip = new ZipInputStream(from);
        @Nullable String first = next();
        if (!ArchiveHeader.ENTRY.equals(first)) {
            throw new IOException(
                    "it is not the archive of a snapshot: it does not begin with %s; a memory file of a VMM is"
                                    .formatted(ArchiveHeader.ENTRY)
                            + " loaded by page-agent load");
        }
        header = ArchiveHeader.parse(content(ArchiveHeader.ENTRY, MAX_JSON));
    }

    ArchiveHeader header() {
        return header;
    }

    /** The name of the next entry; null at the end. */
    private @Nullable String next() throws IOException {
        try {
            ZipEntry entry = zip.getNextEntry();
            return entry == null ? null : entry.getName();
        } catch (ZipException | EOFException | IllegalArgumentException e) {
            throw new IOException("it is damaged between two entries: " + e.getMessage(), e);
        }
    }

    /** An entry, whose checksum is right. */
    private byte[] content(String name, int most) throws IOException {
        try {
            byte[] data = zip.readNBytes(most + 1);
            if (data.length > most) {
                throw new IOException("it is damaged: %s has more than %d bytes".formatted(name, most));
            }
            return data;
        } catch (ZipException | EOFException e) {
            throw damaged(name, e);
        }
    }

    private static IOException damaged(String entry, IOException why) {
        return new IOException("it is damaged in %s: %s".formatted(entry, why.getMessage()), why);
    }

    /** The state of the VMM, which the header says that there is. Its end is reached if it is whole. */
    InputStream state() throws IOException {
        expect(ArchiveHeader.STATE, next());
        return new State();
    }

    private final class State extends InputStream {
        private long left = header.stateBytes().orElseThrow();

        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
        }

        @Override
        public int read(byte[] to, int from, int length) throws IOException {
            if (length == 0) {
                return 0;
            }
            try {
                int part = zip.read(to, from, Math.clamp(left, 1, length));
                if ((part > 0) == (left == 0)) {
                    throw new ZipException(
                            "it has not %d bytes".formatted(header.stateBytes().orElseThrow()));
                }
                left -= Math.max(0, part);
                return part;
            } catch (ZipException | EOFException e) {
                throw damaged(ArchiveHeader.STATE, e);
            }
        }
    }

    private static void expect(String name, @Nullable String found) throws IOException {
        if (!name.equals(found)) {
            throw new IOException("it is damaged: %s is missing, %s"
                    .formatted(name, found == null ? "the archive ends before it" : found + " is in its place"));
        }
    }

    /** All of the memory, with the zeros that the archive leaves out. Its end is reached if the archive is whole. */
    InputStream memory() {
        return new Memory();
    }

    private final class Memory extends InputStream {
        private byte[] frame = new byte[0];
        private long at;
        /** Where the frame begins, or the next one if all of it was read. */
        private long offset;

        private long frames;
        private boolean hasEnded;

        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
        }

        @Override
        public int read(byte[] to, int from, int length) throws IOException {
            if (at == offset + frame.length) {
                advance();
            }
            if (at == header.sizeBytes()) {
                return -1;
            }
            if (at < offset) {
                int zeros = (int) Math.min(length, offset - at);
                Arrays.fill(to, from, from + zeros, (byte) 0);
                at += zeros;
                return zeros;
            }
            int within = (int) (at - offset);
            int part = Math.min(length, frame.length - within);
            System.arraycopy(frame, within, to, from, part);
            at += part;
            return part;
        }

        private void advance() throws IOException {
            if (hasEnded) {
                return;
            }
            @Nullable String name = next();
            if (name == null || name.equals(ArchiveHeader.End.ENTRY)) {
                end(name);
                return;
            }
            long next = offset(name);
            int length = header.frameBytes(next);
            byte[] data = content(name, length);
            if (data.length < length) {
                throw new IOException("it is damaged: %s has %d bytes, not %d".formatted(name, data.length, length));
            }
            frame = data;
            offset = next;
            frames++;
        }

        private long offset(String name) throws IOException {
            long earliest = offset + frame.length;
            try {
                long found = Long.parseLong(name, ArchiveHeader.FRAMES.length(), name.length(), 16);
                if (name.equals(ArchiveHeader.frame(found))
                        && found >= earliest
                        && found < header.sizeBytes()
                        && found % ArchiveHeader.FRAME_BYTES == 0) {
                    return found;
                }
            } catch (IndexOutOfBoundsException | NumberFormatException e) {
                // reported below
            }
            throw new IOException("it is damaged: %s follows %d bytes of memory".formatted(name, earliest));
        }

        private void end(@Nullable String name) throws IOException {
            expect(ArchiveHeader.End.ENTRY, name);
            long said = said(content(ArchiveHeader.End.ENTRY, MAX_JSON));
            if (said != frames) {
                throw new IOException("it is damaged: it has %d entries of memory, and says that there are %d"
                        .formatted(frames, said));
            }
            frame = new byte[0];
            offset = header.sizeBytes();
            hasEnded = true;
        }

        private static long said(byte[] json) throws IOException {
            try {
                return Json.LENIENT.readValue(json, ArchiveHeader.End.class).frames();
            } catch (RuntimeException e) {
                throw new IOException("%s cannot be read: %s".formatted(ArchiveHeader.End.ENTRY, e.getMessage()), e);
            }
        }
    }
}
