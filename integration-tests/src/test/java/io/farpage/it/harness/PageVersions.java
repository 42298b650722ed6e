package io.farpage.it.harness;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * What pages must hold: the version that was stored last or, where a store was cut off, words of that and of the one before. One thread writes
 * a page; any may check.
 */
public final class PageVersions {
    /** Given up: reads as zeros, but nobody but the agent need know. */
    private static final long REMOVED = -1;

    private static final int WORDS = 512;

    private final AtomicLongArray before;
    private final AtomicLongArray now;

    PageVersions(int pages) {
        before = new AtomicLongArray(pages);
        now = new AtomicLongArray(pages);
    }

    /** Fills a page with a version; 0 is zeros. */
    static void fill(MemorySegment into, int page, long version) {
        for (int i = 0; i < WORDS; i++) {
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
        before.set(page, now.get(page));
    }

    /** Whether only the agent need know what a page holds: it was given up, or is about to be. */
    public boolean isRemoved(int page) {
        return now.get(page) == REMOVED || before.get(page) == REMOVED;
    }

    /** Whether a page holds something that could not be had from nowhere. */
    public boolean isSomething(int page) {
        return now.get(page) > 0 && before.get(page) > 0;
    }

    /** What is wrong with a page, if anything is. */
    public Optional<String> check(int page, byte[] bytes) {
        MemorySegment found = MemorySegment.ofArray(bytes);
        long old = before.get(page);
        long newest = now.get(page);
        for (int i = 0; i < WORDS; i++) {
            long word = found.get(ValueLayout.JAVA_LONG_UNALIGNED, (long) i * Long.BYTES);
            if (word != word(page, newest, i) && word != word(page, old, i)) {
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
        long x = version * 0x9e3779b97f4a7c15L + ((long) page << 16 | index);
        x = (x ^ x >>> 30) * 0xbf58476d1ce4e5b9L;
        return x ^ x >>> 31;
    }
}
