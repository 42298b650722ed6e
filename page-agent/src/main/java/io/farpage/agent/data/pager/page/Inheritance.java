package io.farpage.agent.data.pager.page;

import java.util.BitSet;

/**
 * Which blocks of a page table a private child has not copied from its parent's yet. A table of 1 TiB is copied in
 * 16,384 blocks.
 */
final class Inheritance {
    /** Copied in one duty cycle at most. */
    static final int BLOCK_PAGES = 16_384;

    private final PageTable parent;
    private final BitSet missing = new BitSet();

    Inheritance(PageTable parent, int pages) {
        this.parent = parent;
        missing.set(0, Math.ceilDiv(pages, BLOCK_PAGES));
    }

    PageTable parent() {
        return parent;
    }

    boolean isMissing(int block) {
        return missing.get(block);
    }

    /** The lowest block that is missing. */
    int next() {
        return missing.nextSetBit(0);
    }

    void copied(int block) {
        missing.clear(block);
    }

    boolean isComplete() {
        return missing.isEmpty();
    }
}
