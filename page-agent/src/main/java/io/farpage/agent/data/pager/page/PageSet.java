package io.farpage.agent.data.pager.page;

import java.util.Arrays;

/**
 * Which of a number of pages are in a set, a bit for each. A block of 65,536 pages has memory from the first page of it
 * that is added. So a large extent takes little, and {@link #next} looks at the counts of 32,768 blocks at most, and at
 * the bits of two. One thread.
 */
public final class PageSet {
    static final int BLOCK = 1 << 16;

    private static final long[] NONE = {};

    private final int pages;
    private final int[] counts;
    private final long[][] bits;
    private int size;

    /** An empty set of the pages from 0 to {@code pages - 1}. */
    public PageSet(int pages) {
        this.pages = pages;
        counts = new int[Math.ceilDiv(pages, BLOCK)];
        bits = new long[counts.length][];
        Arrays.fill(bits, NONE);
    }

    /** Pages in the set. */
    public int size() {
        return size;
    }

    public boolean contains(int page) {
        int block = page / BLOCK;
        return counts[block] > 0 && (bits[block][word(page)] >>> page & 1) != 0;
    }

    public void add(int page) {
        if (contains(page)) {
            return;
        }
        int block = page / BLOCK;
        if (bits[block].length == 0) {
            bits[block] = new long[BLOCK / Long.SIZE];
        }
        bits[block][word(page)] |= 1L << page;
        counts[block]++;
        size++;
    }

    /** Returns whether the page was in the set. */
    public boolean remove(int page) {
        if (!contains(page)) {
            return false;
        }
        int block = page / BLOCK;
        bits[block][word(page)] &= ~(1L << page);
        counts[block]--;
        size--;
        return true;
    }

    /** The first page of the set that is not before a page; -1 if there is none. */
    public int next(int from) {
        for (long at = from; at < pages; at = (at / BLOCK + 1) * BLOCK) {
            int block = (int) (at / BLOCK);
            int found = counts[block] == 0 ? -1 : next(bits[block], (int) (at % BLOCK));
            if (found >= 0) {
                return block * BLOCK + found;
            }
        }
        return -1;
    }

    /** The first page from one on that is not in the set; the number of all pages if there is none. */
    public int nextAbsent(int from) {
        int at = from;
        while (at < pages && contains(at)) {
            long rest = ~bits[at / BLOCK][word(at)] >>> at;
            at += rest == 0 ? Long.SIZE - at % Long.SIZE : Long.numberOfTrailingZeros(rest);
        }
        return Math.min(at, pages);
    }

    private static int next(long[] words, int from) {
        int word = from / Long.SIZE;
        long rest = words[word] & -1L << from;
        while (rest == 0 && ++word < words.length) {
            rest = words[word];
        }
        return rest == 0 ? -1 : word * Long.SIZE + Long.numberOfTrailingZeros(rest);
    }

    private static int word(int page) {
        return page % BLOCK / Long.SIZE;
    }
}
