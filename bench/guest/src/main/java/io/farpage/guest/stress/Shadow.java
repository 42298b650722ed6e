package io.farpage.guest.stress;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;

/** What every page must hold: eight slots, every one zeros or a version's words. One thread owns a page. */
final class Shadow {
    static final int SLOTS = 8;

    private final int pageBytes;
    private final long[] versions;

    Shadow(int pages, int pageBytes) {
        this.pageBytes = pageBytes;
        versions = new long[pages * SLOTS];
    }

    int pageBytes() {
        return pageBytes;
    }

    int slotBytes() {
        return pageBytes / SLOTS;
    }

    /** Notes that a slot was written with {@code version}; 0 is zeros. */
    void wrote(int page, int slot, long version) {
        versions[page * SLOTS + slot] = version;
    }

    /** Notes that a page was given up. */
    void removed(int page) {
        for (int slot = 0; slot < SLOTS; slot++) {
            wrote(page, slot, 0);
        }
    }

    /** Fills a slot's bytes. */
    static void fill(MemorySegment slot, int page, int number, long version) {
        for (int i = 0; i < slot.byteSize() / Long.BYTES; i++) {
            slot.setAtIndex(JAVA_LONG, i, word(page, number, version, i));
        }
    }

    /** The index of the first word of a page that is not what it must be, or -1. */
    int mismatch(MemorySegment bytes, int page) {
        int words = slotBytes() / Long.BYTES;
        for (int i = 0; i < pageBytes / Long.BYTES; i++) {
            int slot = i / words;
            if (bytes.getAtIndex(JAVA_LONG, i) != word(page, slot, versions[page * SLOTS + slot], i % words)) {
                return i;
            }
        }
        return -1;
    }

    /** What is wrong with a word of a page, for people. */
    String describe(MemorySegment bytes, int page, int index) {
        int words = slotBytes() / Long.BYTES;
        int slot = index / words;
        return "page %d, word %d: 0x%x instead of 0x%x (version %d)"
                .formatted(
                        page,
                        index,
                        bytes.getAtIndex(JAVA_LONG, index),
                        word(page, slot, versions[page * SLOTS + slot], index % words),
                        versions[page * SLOTS + slot]);
    }

    private static long word(int page, int slot, long version, int index) {
        if (version == 0) {
            return 0;
        }
        // A mixing step of splitmix64: no two of these are alike by accident.
        long x = version * 0x9e3779b97f4a7c15L + ((long) page << 24 | (long) slot << 16 | index);
        x = (x ^ x >>> 30) * 0xbf58476d1ce4e5b9L;
        return x ^ x >>> 31;
    }
}
