package io.farpage.it.harness;

import io.farpage.guest.content.PageContent;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.math.BigInteger;

/**
 * Pages that are written in a fixed order with content that follows from a counter: the number of stores so far says
 * what every page holds, so no page need be read to know it. A sixteenth of the pages is never written, and an eighth
 * of the stores are zeros.
 *
 * @param seed of the content
 * @param pages a multiple of 16
 */
public record CountedPages(long seed, int pages) {
    /** Consecutive stores go to pages that are far apart. */
    private static final int STEP = 1009;

    private static final int RIGHT = -1;

    public CountedPages {
        if (pages < 16 || pages % 16 != 0 || pages % STEP == 0) {
            throw new IllegalArgumentException(
                    "pages: " + pages + " is not a multiple of 16 without the factor " + STEP);
        }
    }

    private int written() {
        return pages - pages / 16;
    }

    /** The page that a store goes to. */
    public int page(long store) {
        return (int) (store % written() * STEP % written());
    }

    /** The latest store to a page among the first {@code stores}, or -1 if there is none. */
    private long latest(int page, long stores) {
        int written = written();
        if (page >= written) {
            return -1;
        }
        long inverse =
                BigInteger.valueOf(STEP).modInverse(BigInteger.valueOf(written)).longValueExact();
        long first = page * inverse % written;
        return first >= stores ? -1 : first + (stores - 1 - first) / written * written;
    }

    private boolean isZeros(long store) {
        return PageContent.mix(seed + store) % 8 == 0;
    }

    /** What a store writes. */
    public byte[] content(long store, int pageSize) {
        return isZeros(store) ? new byte[pageSize] : Pages.of(seed, store, pageSize);
    }

    /** The offset of the first wrong word of what a page holds after {@code stores} stores, or -1 if all are right. */
    public long wrongAt(MemorySegment found, int page, long stores) {
        long store = latest(page, stores);
        return store < 0 || isZeros(store) ? nonZeroAt(found) : PageContent.verify(found, seed, store);
    }

    /** The offset of the first word that is not zero, or -1. */
    static long nonZeroAt(MemorySegment found) {
        for (long at = 0; at < found.byteSize(); at += Long.BYTES) {
            if (found.get(ValueLayout.JAVA_LONG_UNALIGNED, at) != 0) {
                return at;
            }
        }
        return RIGHT;
    }
}
