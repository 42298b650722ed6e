package io.farpage.guest.content;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/**
 * The content of benchmark pages, written and checked without allocating.
 *
 * <pre>
 *   origin(seed, page) = mix(mix(seed) + (page + 1) * GOLDEN)
 *   x(i)               = origin + i * GOLDEN
 *   word(i)            = x(i) ^ (x(i) &gt;&gt;&gt; 32)      64 bits, little endian, at byte 8 * i
 * </pre>
 *
 * <p>Arithmetic is modulo 2<sup>64</sup> and {@code mix} is the finaliser of SplitMix64. Within one page no word
 * repeats, and for one seed no two pages start alike, so the check detects a wrong, a shifted and a torn page. Only the
 * origin takes multiplications: the loops are add, shift and xor, which the JIT vectorises, because a check slower than
 * the fetch would dominate the measurement.
 *
 * <p>Sizes are in bytes and multiples of 8. Stateless, so safe from any thread. The C twin is {@code page_content.h}.
 */
public final class PageContent {
    private static final long GOLDEN = 0x9e3779b97f4a7c15L;
    private static final ValueLayout.OfLong WORD = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    /**
     * i * GOLDEN for a block of words. C2 vectorises a load of these where it does not vectorise the multiplication,
     * which makes the check of 4 KiB four times as fast.
     */
    private static final long[] STEPS = steps(512);

    // SAFETY: reached only through the *At methods, whose callers vouch for the address and the length they pass.
    @SuppressWarnings("restricted") // the pages checked are frames of a pool, known by address only
    private static final MemorySegment EVERYTHING = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

    private PageContent() {}

    /** Fills the whole segment with the content of a page. */
    public static void fill(MemorySegment page, long seed, long number) {
        fill(page, 0, words(page.byteSize()), origin(seed, number));
    }

    /** Fills memory at a raw address, which must be writable for {@code bytes} bytes, with the content of a page. */
    public static void fillAt(long address, long bytes, long seed, long number) {
        fill(EVERYTHING, address, words(bytes), origin(seed, number));
    }

    /** Checks every byte; returns the offset of the first 8-byte word that is wrong, or -1 if all are right. */
    public static long verify(MemorySegment page, long seed, long number) {
        return verify(page, 0, words(page.byteSize()), origin(seed, number));
    }

    /**
     * As {@link #verify(MemorySegment, long, long)} for a raw address, which must be readable for {@code bytes} bytes.
     */
    public static long verifyAt(long address, long bytes, long seed, long number) {
        return verify(EVERYTHING, address, words(bytes), origin(seed, number));
    }

    /**
     * Checks the first and the last word only: a few nanoseconds whatever the page size, enough to know the page and
     * that its end has come. Returns the offset of the word that is wrong, or -1.
     */
    public static long verifyEndsAt(long address, long bytes, long seed, long number) {
        long origin = origin(seed, number);
        int last = words(bytes) - 1;
        if (EVERYTHING.get(WORD, address) != word(origin)) {
            return 0;
        }
        return EVERYTHING.get(WORD, address + 8L * last) == word(origin + last * GOLDEN) ? -1 : 8L * last;
    }

    private static void fill(MemorySegment memory, long at, int words, long origin) {
        for (int block = 0; block < words; block += STEPS.length) {
            long blockAt = at + 8L * block;
            long blockOrigin = origin + block * GOLDEN;
            int end = Math.min(STEPS.length, words - block);
            for (int i = 0; i < end; i++) {
                memory.set(WORD, blockAt + 8L * i, word(blockOrigin + STEPS[i]));
            }
        }
    }

    private static long verify(MemorySegment memory, long at, int words, long origin) {
        long wrong = 0;
        for (int block = 0; block < words; block += STEPS.length) {
            long blockAt = at + 8L * block;
            long blockOrigin = origin + block * GOLDEN;
            int end = Math.min(STEPS.length, words - block);
            for (int i = 0; i < end; i++) {
                wrong |= memory.get(WORD, blockAt + 8L * i) ^ word(blockOrigin + STEPS[i]);
            }
        }
        return wrong == 0 ? -1 : firstWrong(memory, at, words, origin);
    }

    private static long firstWrong(MemorySegment memory, long at, int words, long origin) {
        for (int i = 0; i < words; i++) {
            if (memory.get(WORD, at + 8L * i) != word(origin + i * GOLDEN)) {
                return 8L * i;
            }
        }
        throw new IllegalStateException("the page changed while it was being verified");
    }

    private static long[] steps(int count) {
        long[] steps = new long[count];
        for (int i = 0; i < count; i++) {
            steps[i] = i * GOLDEN;
        }
        return steps;
    }

    private static int words(long bytes) {
        if (bytes < 8 || (bytes & 7) != 0 || bytes > 1L << 30) {
            throw new IllegalArgumentException("a page of " + bytes + " bytes; must be a multiple of 8 up to 1 GiB");
        }
        return (int) (bytes >>> 3);
    }

    private static long word(long x) {
        return x ^ (x >>> 32);
    }

    private static long origin(long seed, long page) {
        return mix(mix(seed) + (page + 1) * GOLDEN);
    }

    /** The finaliser of SplitMix64: a bijection on 64 bits whose every output bit depends on every input bit. */
    public static long mix(long z) {
        z = (z ^ (z >>> 30)) * 0xbf58476d1ce4e5b9L;
        z = (z ^ (z >>> 27)) * 0x94d049bb133111ebL;
        return z ^ (z >>> 31);
    }
}
