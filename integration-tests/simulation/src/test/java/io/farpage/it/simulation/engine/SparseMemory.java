package io.farpage.it.simulation.engine;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import io.farpage.linux.Memory;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * Memory of pools that takes room only where it is written. A page of 2 MiB of a simulated guest is zeros but for a few
 * words. So what is copied or filled is compared first, and only the parts that differ are written: a part that no
 * process has ever written stays the kernel's page of zeros.
 */
public final class SparseMemory {
    /** Shorter ranges are copied as they are. */
    public static final int LEAST = 64 << 10;

    private static final int PART = 4096;
    private static final int MADV_DONTNEED = 4;
    private static final int MADV_REMOVE = 9;
    private static final MemorySegment ZEROS = MemorySegment.ofArray(new byte[1 << 20]);
    /** What processes have mapped. */
    private static final List<Range> MAPPED = new ArrayList<>();

    private record Range(long address, long bytes) {}

    /**
     * What a range held at a moment.
     *
     * @param parts those that are not zeros
     */
    public record Content(long bytes, List<Part> parts) {}

    /** Bytes of a content, from an offset on. */
    @SuppressWarnings("ArrayRecordComponent") // never compared
    public record Part(long offset, byte[] bytes) {}

    private SparseMemory() {}

    static void mapped(long address, long bytes) {
        MAPPED.add(new Range(address, bytes));
    }

    /** Gives up the memory that processes have mapped, whose addresses stay theirs. */
    public static void endAll() {
        for (Range range : MAPPED) {
            if (!Memory.madvise(range.address(), range.bytes(), MADV_REMOVE).succeeded()) {
                Memory.madvise(range.address(), range.bytes(), MADV_DONTNEED);
            }
        }
        MAPPED.clear();
    }

    /** Reads a range. */
    public static Content read(MemorySegment from) {
        List<Part> parts = new ArrayList<>();
        for (long at = firstByte(from, 0); at < from.byteSize(); at = firstByte(from, at)) {
            long start = at / PART * PART;
            long end = Math.min(start + PART, from.byteSize());
            parts.add(new Part(start, from.asSlice(start, end - start).toArray(JAVA_BYTE)));
            at = end;
        }
        return new Content(from.byteSize(), parts);
    }

    /** Writes what was read to a range of the same length. */
    public static void write(Content content, MemorySegment to) {
        long at = 0;
        for (Part part : content.parts()) {
            zero(to.asSlice(at, part.offset() - at));
            MemorySegment.copy(MemorySegment.ofArray(part.bytes()), 0, to, part.offset(), part.bytes().length);
            at = part.offset() + part.bytes().length;
        }
        zero(to.asSlice(at));
    }

    /** Makes a range zeros. */
    public static void zero(MemorySegment range) {
        for (long at = firstByte(range, 0); at < range.byteSize(); at = firstByte(range, at)) {
            long start = at / PART * PART;
            at = Math.min(start + PART, range.byteSize());
            range.asSlice(start, at - start).fill((byte) 0);
        }
    }

    /** Copies a range to another of the same length, which does not overlap it. */
    static void copy(MemorySegment from, MemorySegment to) {
        long at = 0;
        while (at < from.byteSize()) {
            long found = from.asSlice(at).mismatch(to.asSlice(at));
            if (found < 0) {
                return;
            }
            long start = (at + found) / PART * PART;
            at = Math.min(start + PART, from.byteSize());
            MemorySegment.copy(from, start, to, start, at - start);
        }
    }

    /** The first byte that is not zero from an offset on; the length of the range if all are. */
    public static long firstByte(MemorySegment range, long from) {
        for (long at = from; at < range.byteSize(); at += ZEROS.byteSize()) {
            long part = Math.min(ZEROS.byteSize(), range.byteSize() - at);
            long found = range.asSlice(at, part).mismatch(ZEROS.asSlice(0, part));
            if (found >= 0) {
                return at + found;
            }
        }
        return range.byteSize();
    }
}
