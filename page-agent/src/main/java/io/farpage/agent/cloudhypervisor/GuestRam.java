package io.farpage.agent.cloudhypervisor;

import io.farpage.rest.Json;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.OptionalLong;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;

/**
 * Where a virtual machine's RAM is in its guest-physical address space, and in a space: one range behind the other, in
 * the order of their addresses.
 *
 * @param ranges in that order; they do not overlap
 */
record GuestRam(List<Range> ranges) {
    /**
     * A range of RAM.
     *
     * @param gpa its guest-physical address
     * @param size bytes
     * @param offset in the space, bytes
     */
    record Range(long gpa, long size, long offset) {}

    private static final long PAGE = 4096;

    /**
     * Reads the ranges from the configuration that Cloud Hypervisor's migration carries:
     * {@code memory_manager_data.guest_ram_mappings}.
     *
     * @throws IllegalArgumentException saying what is wrong with it
     */
    static GuestRam of(byte[] config) {
        List<Range> found = new ArrayList<>();
        try {
            JsonNode mappings =
                    Json.LENIENT.readTree(config).path("memory_manager_data").path("guest_ram_mappings");
            for (JsonNode mapping : mappings) {
                found.add(new Range(number(mapping, "gpa"), number(mapping, "size"), 0));
            }
        } catch (JacksonException e) {
            throw new IllegalArgumentException("it is no JSON: " + e.getOriginalMessage(), e);
        }
        if (found.isEmpty()) {
            throw new IllegalArgumentException("it has no memory_manager_data.guest_ram_mappings");
        }
        found.sort(Comparator.comparingLong(Range::gpa));
        List<Range> ranges = new ArrayList<>();
        long offset = 0;
        long end = 0;
        for (Range range : found) {
            if (range.gpa() < end) {
                throw new IllegalArgumentException(
                        "its guest_ram_mappings overlap at address 0x%x".formatted(range.gpa()));
            }
            ranges.add(new Range(range.gpa(), range.size(), offset));
            offset = Math.addExact(offset, range.size());
            end = Math.addExact(range.gpa(), range.size());
        }
        return new GuestRam(List.copyOf(ranges));
    }

    private static long number(JsonNode mapping, String field) {
        JsonNode value = mapping.path(field);
        if (!value.isIntegralNumber()
                || !value.canConvertToLong()
                || value.asLong() < 0
                || value.asLong() % PAGE != 0) {
            throw new IllegalArgumentException(
                    "its guest_ram_mappings have a %s of %s, which is not a multiple of 4096".formatted(field, value));
        }
        return value.asLong();
    }

    /** Bytes of all ranges. */
    long size() {
        Range last = ranges.getLast();
        return last.offset() + last.size();
    }

    /** Where a part of the RAM is in the space; empty if it is not within one range. */
    OptionalLong offset(long gpa, long length) {
        return ranges.stream()
                .filter(range -> gpa >= range.gpa()
                        && gpa - range.gpa() < range.size()
                        && length <= range.size() - (gpa - range.gpa()))
                .mapToLong(range -> range.offset() + (gpa - range.gpa()))
                .findFirst();
    }
}
