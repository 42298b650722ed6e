package io.farpage.guest.vmm;

/**
 * The pages that one vCPU visits, or one userfaultfd is for.
 *
 * @param first number of the first
 * @param count how many, at least 1
 */
record PageRange(long first, long count) {
    static final long PAGE_BYTES = 4096;

    /** The share of one of {@code parts}: together they are all pages, and none twice. */
    static PageRange share(long pages, int part, int parts) {
        long first = pages * part / parts;
        return new PageRange(first, pages * (part + 1) / parts - first);
    }
}
