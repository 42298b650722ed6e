package io.farpage.agent.control.grant;

import com.fasterxml.jackson.annotation.JsonProperty;
import io.farpage.coordinator.model.RegionKey;
import io.farpage.coordinator.model.RemoteAddress;
import java.util.List;
import java.util.stream.Stream;

/**
 * What a home grants: ranges of its exported frames, with their keys. Sealed as JSON.
 *
 * @param ranges without overlaps
 */
public record GrantContent(@JsonProperty(required = true) List<Range> ranges) {
    /** Copies the ranges. */
    public GrantContent {
        ranges = List.copyOf(ranges);
    }

    /**
     * A region of the home.
     *
     * @param offset of its first byte from the start of the home's exported frames
     * @param length in bytes, at least 1
     * @param address of its first byte in the home's process
     * @param keys one for each device that it is registered with
     */
    public record Range(
            @JsonProperty(required = true) long offset,
            @JsonProperty(required = true) long length,
            @JsonProperty(required = true) RemoteAddress address,
            @JsonProperty(required = true) List<RegionKey> keys) {
        /** Checks the range and copies the keys. */
        public Range {
            if (offset < 0 || length <= 0 || offset > Long.MAX_VALUE - length) {
                throw new IllegalArgumentException("range: %d bytes at offset %d".formatted(length, offset));
            }
            keys = List.copyOf(keys);
        }

        /** Does not show the keys. */
        @Override
        public String toString() {
            return "range 0x%x+%d".formatted(offset, length);
        }

        boolean covers(long at) {
            return at >= offset && at - offset < length;
        }

        boolean overlaps(long from, long bytes) {
            return offset < from + bytes && from < offset + length;
        }

        /** The parts of it before and behind other bytes, with the same keys; all of it if it has none of these. */
        Stream<Range> without(long from, long bytes) {
            return overlaps(from, bytes)
                    ? Stream.concat(part(offset, from), part(from + bytes, offset + length))
                    : Stream.of(this);
        }

        /** The part of it within other bytes. */
        Stream<Range> within(long from, long bytes) {
            return part(Math.max(offset, from), Math.min(offset + length, from + bytes));
        }

        private Stream<Range> part(long from, long to) {
            return from < to
                    ? Stream.of(new Range(from, to - from, new RemoteAddress(address.value() + (from - offset)), keys))
                    : Stream.empty();
        }
    }
}
