package io.farpage.agent.control.archive;

import io.farpage.agent.data.pager.page.Zeros;
import io.farpage.rest.Json;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.foreign.MemorySegment;
import java.util.zip.Deflater;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;

/** Writes an archive, in the order of its entries. One thread. */
final class ArchiveWriter {
    private final ZipOutputStream zip;
    private final ArchiveHeader header;

    /** Writes the header. */
    ArchiveWriter(OutputStream to, ArchiveHeader header) throws IOException {
        this.header = header;
        zip = new ZipOutputStream(to);
        zip.setLevel(Deflater.BEST_SPEED);
        write(ArchiveHeader.ENTRY, Json.STRICT.writeValueAsBytes(header));
    }

    private void write(String name, byte[] data) throws IOException {
        zip.putNextEntry(new ZipEntry(name));
        zip.write(data);
        zip.closeEntry();
    }

    /** What passes the state of the VMM on to a writer. */
    @FunctionalInterface
    interface Content<E extends Exception> {
        void write(OutputStream to) throws IOException, InterruptedException, E;
    }

    /** Writes the state of the VMM. */
    <E extends Exception> void state(Content<E> content) throws IOException, InterruptedException, E {
        zip.putNextEntry(new ZipEntry(ArchiveHeader.STATE));
        content.write(new Inner());
        zip.closeEntry();
    }

    /** Writes the memory, and the end. */
    <E extends Exception> void memory(Content<E> content) throws IOException, InterruptedException, E {
        Frames frames = new Frames();
        content.write(frames);
        frames.end();
        write(ArchiveHeader.End.ENTRY, Json.STRICT.writeValueAsBytes(new ArchiveHeader.End(frames.written)));
        zip.finish();
        zip.flush();
    }

    /** An entry, which stays open when it is closed. */
    private final class Inner extends OutputStream {
        @Override
        public void write(int b) throws IOException {
            zip.write(b);
        }

        @Override
        public void write(byte[] data, int from, int length) throws IOException {
            zip.write(data, from, length);
        }
    }

    /** Collects the memory into frames, and writes those that are not zeros. */
    private final class Frames extends OutputStream {
        private final byte[] frame = new byte[ArchiveHeader.FRAME_BYTES];
        private long offset;
        private int filled;
        private long written;

        @Override
        public void write(int b) throws IOException {
            write(new byte[] {(byte) b}, 0, 1);
        }

        @Override
        public void write(byte[] data, int from, int length) throws IOException {
            int done = 0;
            while (done < length) {
                int part = Math.min(length - done, header.frameBytes(offset) - filled);
                if (part == 0) {
                    throw new IOException("the memory is longer than %d bytes".formatted(header.sizeBytes()));
                }
                System.arraycopy(data, from + done, frame, filled, part);
                filled += part;
                done += part;
                if (filled == header.frameBytes(offset)) {
                    pass();
                }
            }
        }

        private void pass() throws IOException {
            MemorySegment whole = MemorySegment.ofArray(frame).asSlice(0, filled);
            if (!Zeros.are(whole)) {
                zip.putNextEntry(new ZipEntry(ArchiveHeader.frame(offset)));
                zip.write(frame, 0, filled);
                zip.closeEntry();
                written++;
            }
            offset += filled;
            filled = 0;
        }

        private void end() throws IOException {
            if (offset != header.sizeBytes()) {
                throw new IOException(
                        "the memory ends after %d of %d bytes".formatted(offset + filled, header.sizeBytes()));
            }
        }
    }
}
