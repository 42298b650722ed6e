package io.farpage.it.harness;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * What pages must hold: the version that was stored last or, where a store was cut off, words of that and of the one
 * before. One thread writes a page; any may check.
 */
public final class PageVersions {
    /** Given up: reads as zeros, but only the agent need know. */
    private static final long REMOVED = -1;

    private final AtomicLongArray before;
    private final AtomicLongArray now;
    /** For each page, whether the version before has zeros in the {@link #isPart part}. */
    private final AtomicIntegerArray isCut;

    PageVersions(int pages) {
        before = new AtomicLongArray(pages);
        now = new AtomicLongArray(pages);
        isCut = new AtomicIntegerArray(pages);
    }

    /** Whether a word is in the second quarter of its page, which a guest may give up alone. */
    private static boolean isPart(int word, int words) {
        return word >= words / 4 && word < words / 2;
    }

    /** Fills a page with a version; 0 is zeros. */
    static void fill(MemorySegment into, int page, long version) {
        for (int i = 0; i < into.byteSize() / Long.BYTES; i++) {
            into.setAtIndex(ValueLayout.JAVA_LONG, i, word(page, version, i));
        }
    }

    void begin(int page, long version) {
        now.set(page, version);
    }

    void beginRemoval(int page) {
        now.set(page, REMOVED);
    }

    void end(int page) {
        isCut.set(page, 0);
        before.set(page, now.get(page));
    }

    /**
     * The guest has given the part of a page up, and has found zeros there or the version before; it must find the same
     * from now on.
     */
    Optional<String> checkCut(int page, byte[] bytes) {
        int words = bytes.length / Long.BYTES;
        boolean zeros =
                MemorySegment.ofArray(bytes).get(ValueLayout.JAVA_LONG_UNALIGNED, (long) words / 4 * Long.BYTES) == 0;
        if (zeros) {
            isCut.set(page, 1);
        }
        return check(page, bytes);
    }

    /** Whether only the agent need know what a page holds: it was given up, or is about to be. */
    public boolean isRemoved(int page) {
        return now.get(page) == REMOVED || before.get(page) == REMOVED;
    }

    /** Whether a page holds something that has no possible source. */
    public boolean isSomething(int page) {
        return now.get(page) > 0 && before.get(page) > 0;
    }

    /** What is wrong with a page, if anything is. */
    public Optional<String> check(int page, byte[] bytes) {
        MemorySegment found = MemorySegment.ofArray(bytes);
        long old = before.get(page);
        long newest = now.get(page);
        int words = bytes.length / Long.BYTES;
        boolean cut = isCut.get(page) != 0;
        for (int i = 0; i < words; i++) {
            long word = found.get(ValueLayout.JAVA_LONG_UNALIGNED, (long) i * Long.BYTES);
            boolean isZero = cut && isPart(i, words);
            boolean isNewest = word == (isZero && newest == old ? 0 : word(page, newest, i));
            if (!isNewest && word != (isZero ? 0 : word(page, old, i))) {
                return Optional.of("page %d, word %d: 0x%x instead of 0x%x (version %d%s)"
                        .formatted(
                                page,
                                i,
                                word,
                                word(page, newest, i),
                                newest,
                                old == newest ? "" : ", under way after " + old));
            }
        }
        return Optional.empty();
    }

    private static long word(int page, long version, int index) {
        if (version <= 0) {
            return 0;
        }
        // A mixing step of splitmix64: no two of these are alike by accident.
        long x = version * 0x9e3779b97f4a7c15L + ((long) page << 20 | index);
        x = (x ^ x >>> 30) * 0xbf58476d1ce4e5b9L;
        return x ^ x >>> 31;
    }
}
