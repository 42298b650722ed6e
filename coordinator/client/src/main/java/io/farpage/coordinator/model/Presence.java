package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.Optional;

/**
 * The presence map of a space: which pages its homes have, and which are zeros, so that no guest fetches them. It takes
 * pages of its own, behind those of the guest and in the same pools. The node that has the space exclusively writes it
 * before it detaches, with a mark that it draws, and tells the coordinator the mark. A node that may write to the space
 * next ends that, so a mark that the coordinator has is of a map that is right.
 *
 * <p>A page of the map begins with its mark, 16 bytes; the CRC32C of what follows, 4; its number within the map, 4; and
 * 8 bytes of zeros. Then follow the entries, of two bits each, the first one in the lowest bits of a byte: 0, the homes
 * have zeros; 1, they have a page; 3, and it was resident in the last guest. All numbers are little-endian.
 *
 * @param pages how many pages the map takes
 * @param mark of the map that the homes have; empty while it may be out of date
 */
public record Presence(@JsonProperty(required = true) long pages, Optional<String> mark) {

    /** The mark of a map that was never written: all pages are zeros. */
    public static final String ZEROS = "0".repeat(32);

    /** Bytes before the entries of each page of the map: its mark, and what proves that the page is whole. */
    public static final int HEADER_BYTES = 32;

    /** Entries in a byte: each has two bits. */
    public static final int ENTRIES_PER_BYTE = 4;

    /** Checks the fields. */
    public Presence {
        Check.range("presence.pages", pages, 1, Long.MAX_VALUE);
        mark.ifPresent(Presence::checkMark);
    }

    /** The map of a space of {@code pages} pages that no node has written to. */
    public static Presence of(long pages, int pageSize) {
        return new Presence(Math.ceilDiv(pages, entriesOfPage(pageSize)), Optional.of(ZEROS));
    }

    /** How many entries a page of the map has. */
    public static long entriesOfPage(int pageSize) {
        return (long) (pageSize - HEADER_BYTES) * ENTRIES_PER_BYTE;
    }

    /** The same with another mark. */
    public Presence withMark(Optional<String> other) {
        return new Presence(pages, other);
    }

    /**
     * Checks the form of a mark, and returns it.
     *
     * @throws IllegalArgumentException if it is not 32 lower-case hex digits
     */
    public static String checkMark(String mark) {
        return Check.hex32("presence", mark);
    }
}
