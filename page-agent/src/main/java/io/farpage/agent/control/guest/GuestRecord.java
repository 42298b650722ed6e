package io.farpage.agent.control.guest;

import com.fasterxml.jackson.annotation.JsonProperty;
import io.farpage.agent.data.pager.Pager;
import io.farpage.agent.data.pager.page.GuestRegion;
import io.farpage.agent.data.pager.page.PagerOptions;
import io.farpage.agent.data.seal.SealTable;
import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.SpaceExtents;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.regex.Pattern;

/**
 * What a successor must know of a guest, beside the page tables.
 *
 * @param node whose guest it is
 * @param incarnation of the agent that has its space attached
 * @param space id of the space
 * @param name of the space
 * @param socket where its VMM handed the memory over
 * @param pid of the VMM
 * @param pageBytes bytes of a page
 * @param pages of the space
 * @param written whether all pages began at their homes, rather than as zeros
 * @param localPages that may be resident
 * @param prefetchPages that one fault fetches at most
 * @param memoryBytes length of the memory file
 * @param slices of the space, one for each userfaultfd
 * @param sealed of an encrypted space
 * @param extents of the space as the agent knew them last; an agent of an earlier build leaves them out, and they are
 *     left out if the record has no room for them
 * @param parked if the guest is parked
 * @param mode how its space is attached; an agent of an earlier build leaves it out, and keeps exclusive ones alone
 */
record GuestRecord(
        @JsonProperty(required = true) String node,
        @JsonProperty(required = true) Incarnation incarnation,
        @JsonProperty(required = true) long space,
        @JsonProperty(required = true) String name,
        @JsonProperty(required = true) String socket,
        @JsonProperty(required = true) int pid,
        @JsonProperty(required = true) int pageBytes,
        @JsonProperty(required = true) int pages,
        @JsonProperty(required = true) boolean written,
        @JsonProperty(required = true) int localPages,
        @JsonProperty(required = true) int prefetchPages,
        @JsonProperty(required = true) long memoryBytes,
        @JsonProperty(required = true) List<Slice> slices,
        Optional<Sealed> sealed,
        Optional<SpaceExtents> extents,
        Optional<Parked> parked,
        Optional<AttachMode> mode) {
    /**
     * What a successor must know to open the pages of an encrypted space, beside their tags and versions.
     *
     * @param keyId of the key, which is not in the record
     * @param salts 32 hex digits for each generation that pages are sealed with
     */
    record Sealed(
            @JsonProperty(required = true) String keyId,
            @JsonProperty(required = true) SortedMap<Integer, String> salts) {
        private static final Pattern SALT = Pattern.compile("[0-9a-f]{32}");

        /** Generations that the record has room for. */
        static final int MOST = 1000;

        Sealed {
            salts = Collections.unmodifiableSortedMap(new TreeMap<>(salts));
        }

        static Sealed of(String keyId, SortedMap<Integer, byte[]> salts) {
            SortedMap<Integer, String> digits = new TreeMap<>();
            salts.forEach(
                    (generation, salt) -> digits.put(generation, HexFormat.of().formatHex(salt)));
            return new Sealed(keyId, digits);
        }

        SortedMap<Integer, byte[]> saltBytes() {
            SortedMap<Integer, byte[]> bytes = new TreeMap<>();
            salts.forEach(
                    (generation, salt) -> bytes.put(generation, HexFormat.of().parseHex(salt)));
            return bytes;
        }

        boolean isSound() {
            return !salts.isEmpty()
                    && salts.firstKey() > 0
                    && salts.lastKey() < SealTable.GENERATIONS
                    && salts.values().stream()
                            .allMatch(salt -> SALT.matcher(salt).matches());
        }
    }

    /** Bytes in front of the tables: this record, and the messages of each slice. */
    static final long TABLES_AT = 1 << 20;

    /** Bytes of an ordinary page. */
    static final int SMALL_PAGE = 4096;

    /** Bytes of a page on hugetlbfs. */
    static final int LARGE_PAGE = 2 << 20;

    private static final long ALIGNMENT = 4096;

    GuestRecord {
        slices = List.copyOf(slices);
    }

    /** The same for another process. */
    GuestRecord of(Incarnation other) {
        return with(other, localPages, sealed, extents, parked);
    }

    /** The same with another limit. */
    GuestRecord limitedTo(int otherLocalPages) {
        return with(incarnation, otherLocalPages, sealed, extents, parked);
    }

    /** The same with other salts. */
    GuestRecord salted(SortedMap<Integer, byte[]> salts) {
        return with(
                incarnation,
                localPages,
                Optional.of(Sealed.of(sealed.orElseThrow().keyId(), salts)),
                extents,
                parked);
    }

    /** The same with other extents, or without any. */
    GuestRecord at(Optional<SpaceExtents> now) {
        return with(incarnation, localPages, sealed, now, parked);
    }

    /** The same, parked or not. */
    GuestRecord parkedAs(Optional<Parked> now) {
        return with(incarnation, localPages, sealed, extents, now);
    }

    private GuestRecord with(
            Incarnation otherIncarnation,
            int otherLocalPages,
            Optional<Sealed> otherSealed,
            Optional<SpaceExtents> otherExtents,
            Optional<Parked> otherParked) {
        return new GuestRecord(
                node,
                otherIncarnation,
                space,
                name,
                socket,
                pid,
                pageBytes,
                pages,
                written,
                otherLocalPages,
                prefetchPages,
                memoryBytes,
                slices,
                otherSealed,
                otherExtents,
                otherParked,
                mode);
    }

    /** How its space is attached. */
    AttachMode attached() {
        return mode.orElse(AttachMode.EXCLUSIVE);
    }

    /** Where the table of a slice begins in the file; behind the last are tags and versions. */
    long tableAt(int slice) {
        long at = TABLES_AT;
        for (Slice before : slices.subList(0, slice)) {
            at += (Pager.tableBytes(before.pages()) + ALIGNMENT - 1) & -ALIGNMENT;
        }
        return at;
    }

    /** Where tags and versions of the pages begin in the file. */
    long sealsAt() {
        return tableAt(slices.size());
    }

    /** Bytes of tags and versions; 0 if the space is not encrypted. */
    long sealBytes() {
        return sealed.isPresent() ? (long) pages * SealTable.ENTRY_BYTES : 0;
    }

    /** Bytes of the whole file. */
    long fileBytes() {
        return (sealsAt() + sealBytes() + ALIGNMENT - 1) & -ALIGNMENT;
    }

    /** What is wrong with it; empty if it is sound. */
    Optional<String> fault() {
        if ((pageBytes != SMALL_PAGE && pageBytes != LARGE_PAGE)
                || pages <= 0
                || slices.isEmpty()
                || slices.size() > Handoff.MAX_USERFAULTFDS) {
            return Optional.of("%d pages of %d bytes in %d slices".formatted(pages, pageBytes, slices.size()));
        }
        long covered = 0;
        for (Slice slice : slices) {
            long bytes = (long) slice.pages() * pageBytes;
            boolean inside = slice.pages() > 0
                    && slice.firstPage() >= 0
                    && slice.base() == (long) slice.firstPage() * pageBytes
                    && slice.firstPage() <= pages - slice.pages();
            for (GuestRegion region : slice.regions()) {
                inside &= region.isSound(bytes, pageBytes);
            }
            if (!inside) {
                return Optional.of("a slice lies outside the space: " + slice);
            }
            covered += slice.pages();
        }
        if (sealed.isPresent() && !sealed.get().isSound()) {
            return Optional.of("the salts of its keys");
        }
        try {
            PagerOptions _ = new PagerOptions(localPages, prefetchPages);
        } catch (IllegalArgumentException e) {
            return Optional.of(String.valueOf(e.getMessage()));
        }
        if (parked.isPresent() && !isSound(parked.get())) {
            return Optional.of(
                    "it is parked with %d resident pages".formatted(parked.get().keepPages()));
        }
        if (attached() == AttachMode.MEMBER && (slices.size() != 1 || pageBytes != SMALL_PAGE)) {
            return Optional.of("a member with %d slices of pages of %d bytes".formatted(slices.size(), pageBytes));
        }
        return covered == pages ? Optional.empty() : Optional.of("its slices have %d pages".formatted(covered));
    }

    private boolean isSound(Parked as) {
        return as.keepPages() >= (long) Pager.leastParkedPages(pageBytes) * slices.size()
                && as.keepPages() <= Integer.MAX_VALUE;
    }
}
