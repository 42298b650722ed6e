package io.farpage.agent.data.pager;

import java.util.Arrays;

/**
 * Which of a number of pages are in a set, a bit for each. Blocks of 65,536 pages that are all in it or all out of it are a number each, so no call takes time in
 * proportion to a large extent: {@link #addAll} and {@link #next} look at 32,768 of these numbers at most, and {@link #next} at the bits of two blocks. A block has
 * memory from the first change that divides it. One thread.
 */
final class PageSet {
    static final int BLOCK = 1 << 16;

    /** Of a block without bits. */
    private static final long[] NONE = {};

    private final int pages;
    private final int[] counts;
    /** The bits of each block that is divided. Those of a block that is not in the set are 0, if it has any; those of one that is have no meaning. */
    private final long[][] bits;

    private int size;

    /** An empty set of the pages from 0 to {@code pages - 1}. */
    PageSet(int pages) {
        this.pages = pages;
        counts = new int[Math.ceilDiv(pages, BLOCK)];
        bits = new long[counts.length][];
        Arrays.fill(bits, NONE);
    }

    /** Pages in the set. */
    int size() {
        return size;
    }

    boolean contains(int page) {
        int block = page / BLOCK;
        return counts[block] == pagesOf(block) || (counts[block] > 0 && (bits[block][word(page)] >>> page & 1) != 0);
    }

    void addAll() {
        for (int block = 0; block < counts.length; block++) {
            counts[block] = pagesOf(block);
        }
        size = pages;
    }

    void add(int page) {
        if (contains(page)) {
            return;
        }
        int block = page / BLOCK;
        divided(block)[word(page)] |= 1L << page;
        counts[block]++;
        size++;
    }

    /** Returns whether the page was in the set. */
    boolean remove(int page) {
        if (!contains(page)) {
            return false;
        }
        int block = page / BLOCK;
        long[] words = divided(block);
        if (counts[block] == pagesOf(block)) {
            fill(words, counts[block]);
        }
        words[word(page)] &= ~(1L << page);
        counts[block]--;
        size--;
        return true;
    }

    /** The first page of the set that is not before a page; -1 if there is none. */
    int next(int from) {
        for (long at = from; at < pages; at = (at / BLOCK + 1) * BLOCK) {
            int block = (int) (at / BLOCK);
            if (counts[block] == pagesOf(block)) {
                return (int) at;
            }
            int found = counts[block] == 0 ? -1 : next(bits[block], (int) (at % BLOCK));
            if (found >= 0) {
                return block * BLOCK + found;
            }
        }
        return -1;
    }

    private static int next(long[] words, int from) {
        int word = from / Long.SIZE;
        long rest = words[word] & -1L << from;
        while (rest == 0 && ++word < words.length) {
            rest = words[word];
        }
        return rest == 0 ? -1 : word * Long.SIZE + Long.numberOfTrailingZeros(rest);
    }

    private int pagesOf(int block) {
        return Math.min(BLOCK, pages - block * BLOCK);
    }

    private static int word(int page) {
        return page % BLOCK / Long.SIZE;
    }

    private long[] divided(int block) {
        if (bits[block].length == 0) {
            bits[block] = new long[BLOCK / Long.SIZE];
        }
        return bits[block];
    }

    private static void fill(long[] words, int pages) {
        int whole = pages / Long.SIZE;
        Arrays.fill(words, 0, whole, -1L);
        Arrays.fill(words, whole, words.length, 0);
        if (pages % Long.SIZE != 0) {
            words[whole] = (1L << pages) - 1;
        }
    }
}
