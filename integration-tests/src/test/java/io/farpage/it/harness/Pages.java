package io.farpage.it.harness;

import io.farpage.guest.content.PageContent;
import java.lang.foreign.MemorySegment;

/** Pages whose every byte follows from a seed and a number. */
public final class Pages {
    private Pages() {}

    public static byte[] of(long seed, long number, int pageSize) {
        byte[] page = new byte[pageSize];
        PageContent.fill(MemorySegment.ofArray(page), seed, number);
        return page;
    }

    /** Fails unless {@code page} is exactly that page. */
    public static void check(byte[] page, long seed, long number, int pageSize) {
        if (page.length != pageSize) {
            throw new AssertionError("page %d has %d bytes, not %d".formatted(number, page.length, pageSize));
        }
        long wrong = PageContent.verify(MemorySegment.ofArray(page), seed, number);
        if (wrong >= 0) {
            throw new AssertionError("page %d (seed %d) is wrong at byte %d".formatted(number, seed, wrong));
        }
    }
}
