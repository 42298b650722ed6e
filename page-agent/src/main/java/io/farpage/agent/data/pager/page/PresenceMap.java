package io.farpage.agent.data.pager.page;

import java.util.Arrays;

/**
 * Which pages of a guest its homes have, and which of those are prefetched for the next guest: two bits for each page.
 * Not thread-safe.
 */
public final class PresenceMap {
    /** The homes have zeros. */
    public static final int ZERO = 0;

    /** The homes have a page, or may have one. */
    public static final int PRESENT = 1;

    /** As {@link #PRESENT}, and the page was in the memory of the last guest. */
    public static final int WANTED = 3;

    private static final int BITS = 2;
    private static final int MASK = 3;
    private static final int PER_BYTE = Byte.SIZE / BITS;
    private static final byte ALL_PRESENT = 0b0101_0101;

    private final int pages;
    /** The first page is in the lowest bits of a byte. */
    private final byte[] entries;

    private PresenceMap(int pages, byte[] entries) {
        this.pages = pages;
        this.entries = entries;
    }

    /** All pages are zeros. */
    public static PresenceMap zeros(int pages) {
        return new PresenceMap(pages, new byte[Math.ceilDiv(pages, PER_BYTE)]);
    }

    /** The homes may have any page. */
    public static PresenceMap unknown(int pages) {
        PresenceMap map = zeros(pages);
        Arrays.fill(map.entries, ALL_PRESENT);
        return map;
    }

    public int pages() {
        return pages;
    }

    /** {@link #ZERO}, {@link #PRESENT} or {@link #WANTED}. */
    public int get(int page) {
        return entries[page / PER_BYTE] >>> shift(page) & MASK;
    }

    public void set(int page, int entry) {
        int others = entries[page / PER_BYTE] & ~(MASK << shift(page));
        entries[page / PER_BYTE] = (byte) (others | entry << shift(page));
    }

    /** Sets the entries of pages from {@code first} to before {@code end}. */
    public void fill(int first, int end, int entry) {
        int page = first;
        for (; page < end && page % PER_BYTE != 0; page++) {
            set(page, entry);
        }
        int whole = Math.max(page, end / PER_BYTE * PER_BYTE);
        Arrays.fill(entries, page / PER_BYTE, whole / PER_BYTE, (byte) (entry * ALL_PRESENT));
        for (page = whole; page < end; page++) {
            set(page, entry);
        }
    }

    private static int shift(int page) {
        return page % PER_BYTE * BITS;
    }

    /** The first page after {@code page} whose entry is another one, or the number of pages. */
    public int endOfRun(int page) {
        int entry = get(page);
        int at = page + 1;
        while (at < pages && get(at) == entry) {
            at++;
            if (at % PER_BYTE == 0) {
                at = endOfBytes(at / PER_BYTE, (byte) (entry * ALL_PRESENT)) * PER_BYTE;
            }
        }
        return at;
    }

    /** The first byte from {@code from} on that is another one, or that has fewer than four pages. */
    private int endOfBytes(int from, byte four) {
        int end = pages / PER_BYTE;
        if (from >= end || entries[from] != four) {
            return from;
        }
        // Where the bytes change: the bytes of a run are those that come after them.
        int same = Arrays.mismatch(entries, from, end - 1, entries, from + 1, end);
        return same < 0 ? end : from + same + 1;
    }

    /** Whether the homes may have any page. */
    public boolean isAnyPresent() {
        return pages > 0 && (get(0) != ZERO || endOfRun(0) < pages);
    }

    /** The same for someone who knows better which pages are zeros: none is, here. */
    public PresenceMap asWishes() {
        PresenceMap wishes = unknown(pages);
        for (int i = 0; i < entries.length; i++) {
            wishes.entries[i] |= entries[i];
        }
        return wishes;
    }

    /** The same, in which no page is wanted. */
    public PresenceMap withoutWishes() {
        PresenceMap same = zeros(pages);
        for (int i = 0; i < entries.length; i++) {
            same.entries[i] = (byte) (entries[i] & ALL_PRESENT);
        }
        return same;
    }

    /** Another map with the same entries. */
    public PresenceMap copy() {
        return new PresenceMap(pages, entries.clone());
    }

    /** The entries of {@code count} pages from {@code first} on, as a map that counts from there. */
    public PresenceMap slice(int first, int count) {
        if (count == pages) {
            return this;
        }
        PresenceMap slice = zeros(count);
        for (int page = 0; page < count; page++) {
            slice.set(page, get(first + page));
        }
        return slice;
    }

    /** The entries of smaller pages: {@code parts} in each of these pages, which are as this page is. */
    public PresenceMap finer(int parts) {
        PresenceMap finer = zeros(Math.multiplyExact(pages, parts));
        for (int page = 0; page < finer.pages; page++) {
            finer.set(page, get(page / parts));
        }
        return finer;
    }

    /**
     * The entries of larger pages, of {@code parts} of these pages each; pages at the end that fill none have none. A
     * page is zeros if all its parts are, and wanted if one is.
     */
    public PresenceMap coarser(int parts) {
        PresenceMap coarser = zeros(pages / parts);
        for (int page = 0; page < coarser.pages * parts; page++) {
            coarser.set(page / parts, coarser.get(page / parts) | get(page));
        }
        return coarser;
    }

    /**
     * Replaces the entries of four pages in each byte.
     *
     * @param first page, a multiple of four
     */
    public void read(int first, byte[] from, int at, int bytes) {
        System.arraycopy(from, at, entries, first / PER_BYTE, Math.min(bytes, entries.length - first / PER_BYTE));
    }

    /** The other way of {@link #read}. */
    public void write(int first, byte[] to, int at, int bytes) {
        System.arraycopy(entries, first / PER_BYTE, to, at, Math.min(bytes, entries.length - first / PER_BYTE));
    }
}
