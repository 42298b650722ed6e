package io.farpage.agent.data.seal;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.farpage.linux.Memory;
import io.farpage.linux.SystemCall;
import io.farpage.linux.crypto.AesGcm;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Tag and version of the newest sealed form of every page of a space, {@link #ENTRY_BYTES} bytes a page, outside the
 * heap. Pages that were never sealed cost no memory. An entry belongs to the thread that serves its page; other threads
 * read it once that thread has ended its work.
 *
 * <p>A version is the generation of the key in the upper 16 bits, counted from 1, and the number of the message under
 * that key below. Version 0 is of a page that its home has never had.
 */
public final class SealTable implements AutoCloseable {
    /** Bytes of an entry: the tag, then the version. */
    public static final int ENTRY_BYTES = AesGcm.TAG_BYTES + Long.BYTES;

    /** Where the generation is in a version. */
    static final int GENERATION_SHIFT = 48;

    /** Generations that a version can name, 0 included, which none has. */
    public static final int GENERATIONS = 1 << (Long.SIZE - GENERATION_SHIFT);

    private final long pages;
    private final MemorySegment entries;
    /** Null if the memory is another's. */
    private final @Nullable Arena arena;

    /**
     * A table in which no page is sealed.
     *
     * @throws IllegalStateException if there is no memory for it
     */
    public SealTable(long pages) {
        this.pages = pages;
        arena = Arena.ofShared();
        entries = map(pages * ENTRY_BYTES, arena);
    }

    private SealTable(MemorySegment entries) {
        pages = entries.byteSize() / ENTRY_BYTES;
        arena = null;
        this.entries = entries;
    }

    /**
     * A table in memory that stays when it is closed.
     *
     * @param entries {@link #ENTRY_BYTES} for each page, aligned to 8 bytes: zeros, or what an earlier table has left
     *     there
     */
    public static SealTable over(MemorySegment entries) {
        return new SealTable(entries);
    }

    /** Takes over the entries of a table of as many pages. */
    public void copy(SealTable from) {
        MemorySegment.copy(from.entries, 0, entries, 0, pages * ENTRY_BYTES);
    }

    /** Maps zeros that are unmapped, wiped, when {@code arena} closes. They are in no core file. */
    @SuppressWarnings("restricted")
    static MemorySegment map(long bytes, Arena arena) {
        SystemCall mapped = Memory.mmap(bytes, 0);
        if (!mapped.succeeded()) {
            throw new IllegalStateException(
                    "mmap of %d bytes for the tags and keys of sealed pages: %s; free memory on this host"
                            .formatted(bytes, mapped.error()));
        }
        long address = mapped.value();
        Memory.madvise(address, bytes, Memory.MADV_DONTDUMP);
        // SAFETY: the range has just been mapped, and is unmapped when the segment can no longer be used.
        return MemorySegment.ofAddress(address).reinterpret(bytes, arena, whole -> Memory.munmap(address, bytes));
    }

    /** Pages of the space. */
    public long pages() {
        return pages;
    }

    /** The version of a page; 0 if it was never sealed. */
    public long version(long page) {
        return entries.get(JAVA_LONG, page * ENTRY_BYTES + AesGcm.TAG_BYTES);
    }

    /** The generation of a version. */
    public static int generation(long version) {
        return (int) (version >>> GENERATION_SHIFT);
    }

    void version(long page, long version) {
        entries.set(JAVA_LONG, page * ENTRY_BYTES + AesGcm.TAG_BYTES, version);
    }

    /** Address of the tag of a page. */
    long tag(long page) {
        return entries.address() + page * ENTRY_BYTES;
    }

    /** The entries of pages, as they are in memory. */
    public MemorySegment entries(long first, long count) {
        return entries.asSlice(first * ENTRY_BYTES, count * ENTRY_BYTES);
    }

    /**
     * Frees the memory, if it is the table's own. Call it after the last use of the table. Closing twice does nothing.
     */
    @Override
    public void close() {
        if (arena != null && arena.scope().isAlive()) {
            arena.close();
        }
    }
}
