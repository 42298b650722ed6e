package io.farpage.bench.clone;

import io.farpage.guest.command.CommandException;
import io.farpage.guest.content.PageContent;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;

/**
 * A snapshot that has the content of benchmark pages in its first part, and zeros behind it.
 *
 * @param name of the space
 * @param bytes its size
 * @param image a local file with the same bytes
 */
record Snapshot(String name, long bytes, Path image) {
    private static final int PAGE = ClonePlan.PAGE_BYTES;
    private static final int CHUNK_PAGES = 256;
    private static final long MIB = 1 << 20;

    /** A size as in the name of a run: {@code 256mib}. */
    static String label(long bytes) {
        return bytes % (MIB << 10) == 0 ? (bytes >> 30) + "gib" : (bytes >> 20) + "mib";
    }

    /** Writes the image, without room on the disk for the zeros. */
    void writeImage(long pages, long seed) {
        try (RandomAccessFile file = new RandomAccessFile(image.toFile(), "rw");
                Arena arena = Arena.ofConfined()) {
            FileChannel channel = file.getChannel();
            MemorySegment chunk = arena.allocate((long) CHUNK_PAGES * PAGE, PAGE);
            for (long first = 0; first < pages; first += CHUNK_PAGES) {
                int count = (int) Math.min(CHUNK_PAGES, pages - first);
                for (int i = 0; i < count; i++) {
                    PageContent.fill(chunk.asSlice((long) i * PAGE, PAGE), seed, first + i);
                }
                write(channel, chunk.asSlice(0, (long) count * PAGE).asByteBuffer());
            }
            file.setLength(bytes);
        } catch (IOException e) {
            throw new CommandException(
                    "cannot write %s, which needs %d MiB: %s; choose a smaller --memory, or a directory with more room:"
                                    .formatted(image, pages * PAGE / MIB, e.getMessage())
                            + " FARPAGE_JAVA_OPTS=-Djava.io.tmpdir=DIR",
                    e);
        }
    }

    private static void write(FileChannel to, ByteBuffer bytes) throws IOException {
        while (bytes.hasRemaining()) {
            var _ = to.write(bytes);
        }
    }
}
