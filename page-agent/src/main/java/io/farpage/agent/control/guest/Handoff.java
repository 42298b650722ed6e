package io.farpage.agent.control.guest;

import com.fasterxml.jackson.annotation.JsonProperty;
import io.farpage.agent.data.pager.page.GuestRegion;
import io.farpage.rest.Json;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;

/**
 * A VMM's description of its memory: the JSON array of Firecracker's page fault handler
 * (docs/snapshotting/handling-page-faults-on-snapshot-resume.md there), a JSON object for each region, which may name
 * its userfaultfd if there are several. None of its values is trusted.
 */
final class Handoff {
    /** Userfaultfds, and with them pagers, that a guest may have. */
    static final int MAX_USERFAULTFDS = 16;

    private static final int MAX_REGIONS = 1024;
    private static final long USER_SPACE_END = 1L << 56;
    private static final List<Integer> PAGE_SIZES = List.of(GuestRecord.SMALL_PAGE, GuestRecord.LARGE_PAGE);

    private Handoff() {}

    /** One element of the array. Firecracker has used both names for the page size, with the same meaning: bytes. */
    record Mapping(
            @JsonProperty(value = "base_host_virt_addr", required = true)
            long hostAddress,

            @JsonProperty(required = true) long size,
            @JsonProperty(required = true) long offset,
            @JsonProperty("page_size") OptionalLong pageSize,
            @JsonProperty("page_size_kib") OptionalLong pageSizeKib,
            OptionalInt userfaultfd,
            @JsonProperty("is_guest_memfd") Optional<Boolean> isGuestMemfd) {

        long pageBytes() {
            return pageSize.orElse(pageSizeKib.orElse(4096));
        }
    }

    /**
     * The memory that a message describes.
     *
     * @param pageBytes bytes of its pages, which need not be those of the space
     * @param slices a slice of the space for each userfaultfd, one or more, in pages of the VMM
     */
    record Layout(int pageBytes, List<Slice> slices) {}

    /**
     * Reads a message.
     *
     * @param spaceBytes size of the space
     * @throws HandoffException naming the first thing that is wrong
     */
    static Layout parse(String json, long spaceBytes) throws HandoffException {
        @Nullable Mapping @Nullable [] mappings;
        try {
            mappings = Json.LENIENT.readValue(json, Mapping[].class);
        } catch (JacksonException e) {
            throw new HandoffException("the message is no JSON array of memory regions: " + e.getOriginalMessage());
        }
        if (mappings == null) {
            throw new HandoffException("the message is no JSON array of memory regions: it is null");
        }
        if (mappings.length == 0 || mappings.length > MAX_REGIONS) {
            throw new HandoffException(mappings.length + " memory regions; 1 to " + MAX_REGIONS + " are allowed");
        }
        List<Mapping> known = new ArrayList<>();
        for (Mapping mapping : mappings) {
            if (mapping == null) {
                throw new HandoffException("memory region %d is null".formatted(known.size()));
            }
            known.add(mapping);
        }
        refuseGuestMemfd(known);
        int pageBytes = pageBytes(known, spaceBytes);
        List<GuestRegion> regions = new ArrayList<>();
        for (Mapping mapping : known) {
            regions.add(check(mapping, pageBytes, spaceBytes));
        }
        refuseOverlap(regions, GuestRegion::hostAddress, "host addresses");
        refuseOverlap(regions, GuestRegion::offset, "offsets");
        return new Layout(
                pageBytes, Slice.of(byUserfaultfd(known, regions), pageBytes, (int) (spaceBytes / pageBytes)));
    }

    private static List<List<GuestRegion>> byUserfaultfd(List<Mapping> mappings, List<GuestRegion> regions)
            throws HandoffException {
        List<List<GuestRegion>> all = new ArrayList<>();
        for (int i = 0; i < mappings.size(); i++) {
            int index = mappings.get(i).userfaultfd().orElse(0);
            if (index < 0 || index >= MAX_USERFAULTFDS) {
                throw new HandoffException(
                        "a region names userfaultfd %d; 0 to %d are allowed".formatted(index, MAX_USERFAULTFDS - 1));
            }
            while (all.size() <= index) {
                all.add(new ArrayList<>());
            }
            all.get(index).add(regions.get(i));
        }
        for (int index = 0; index < all.size(); index++) {
            if (all.get(index).isEmpty()) {
                throw new HandoffException("no region names userfaultfd %d, and one names userfaultfd %d"
                        .formatted(index, all.size() - 1));
            }
        }
        return all;
    }

    /** Before all else: such a VMM also sends more descriptors. */
    private static void refuseGuestMemfd(List<Mapping> mappings) throws HandoffException {
        if (mappings.stream().anyMatch(mapping -> mapping.isGuestMemfd().orElse(false))) {
            throw new HandoffException("the memory is that of a secret-free VM, a guest_memfd (is_guest_memfd), which"
                    + " userfaultfd alone cannot fill; start a VM without secret_free in its machine configuration,"
                    + " and resume snapshots of such a VM");
        }
    }

    private static int pageBytes(List<Mapping> mappings, long spaceBytes) throws HandoffException {
        long bytes = mappings.getFirst().pageBytes();
        for (Mapping mapping : mappings) {
            if (mapping.pageBytes() != bytes) {
                throw new HandoffException("the regions have pages of %d and of %d bytes; give all the same page size"
                        .formatted(bytes, mapping.pageBytes()));
            }
        }
        if (PAGE_SIZES.stream().noneMatch(size -> size == bytes)) {
            throw new HandoffException(
                    "the VMM's memory has pages of %d bytes; 4096 and 2097152 are possible".formatted(bytes));
        }
        if (spaceBytes / bytes > Integer.MAX_VALUE) {
            throw new HandoffException(
                    "the space has %d bytes, more than 2^31 - 1 pages of the VMM's size %d; give the VMM larger pages"
                            .formatted(spaceBytes, bytes));
        }
        return (int) bytes;
    }

    private static GuestRegion check(Mapping mapping, int pageBytes, long spaceBytes) throws HandoffException {
        requireAligned("base_host_virt_addr", mapping.hostAddress(), pageBytes);
        requireAligned("size", mapping.size(), pageBytes);
        requireAligned("offset", mapping.offset(), pageBytes);
        if (mapping.size() == 0) {
            throw new HandoffException("a memory region has size 0");
        }
        if (mapping.size() > spaceBytes || mapping.offset() > spaceBytes - mapping.size()) {
            throw new HandoffException("a region of %d bytes at offset %d reaches beyond the space, which has %d bytes"
                    .formatted(mapping.size(), mapping.offset(), spaceBytes));
        }
        if (mapping.hostAddress() > USER_SPACE_END - mapping.size()) {
            throw new HandoffException("base_host_virt_addr 0x" + Long.toHexString(mapping.hostAddress())
                    + " is not an address of a process");
        }
        return new GuestRegion(mapping.hostAddress(), mapping.size(), mapping.offset());
    }

    private static void requireAligned(String field, long value, int pageBytes) throws HandoffException {
        if (value < 0 || value % pageBytes != 0) {
            throw new HandoffException(
                    "%s %d is not 0 or a positive multiple of the page size %d".formatted(field, value, pageBytes));
        }
    }

    private static void refuseOverlap(List<GuestRegion> regions, ToLongFunction<GuestRegion> start, String what)
            throws HandoffException {
        List<GuestRegion> sorted = new ArrayList<>(regions);
        sorted.sort(Comparator.comparingLong(start));
        for (int i = 1; i < sorted.size(); i++) {
            GuestRegion before = sorted.get(i - 1);
            if (start.applyAsLong(before) + before.length() > start.applyAsLong(sorted.get(i))) {
                throw new HandoffException(
                        "the %s of two regions overlap: %s and %s".formatted(what, before, sorted.get(i)));
            }
        }
    }
}
