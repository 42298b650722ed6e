package io.farpage.guest.vmm;

import io.farpage.guest.content.PageContent;

/**
 * What a guest's words hold: {@code address * factor + summand}, where the address is the word's own, so that a page in
 * another's place is noticed, and the summand changes with each writing, so that a stale page is.
 */
record Content(long factor, long summand) {
    static final Content ZEROS = new Content(0, 0);

    private static final long FACTOR = 0x9e3779b97f4a7c15L;

    /** @param generation how many times it has been written: 1, 2, … */
    static Content written(long seed, int generation) {
        return new Content(FACTOR, PageContent.mix(seed + generation));
    }

    /** What the word at a guest-physical address holds. */
    long at(long address) {
        return address * factor + summand;
    }
}
