package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * Memory that a node has registered for its peers, the body of {@code PUT /nodes/{id}/regions/{name}}.
 *
 * @param incarnation of the node
 * @param address where it begins in the node's process
 * @param length in bytes, at least 1
 * @param keys one for each device, none twice, at least one
 */
public record RegionRequest(
        @JsonProperty(required = true) Incarnation incarnation,
        @JsonProperty(required = true) RemoteAddress address,
        @JsonProperty(required = true) long length,
        @JsonProperty(required = true) List<RegionKey> keys) {

    /** Checks the fields. */
    public RegionRequest {
        Check.range("length", length, 1, 1L << 50);
        Check.range("keys: number of elements", keys.size(), 1, 64);
        keys = List.copyOf(keys);
        if (keys.stream().map(RegionKey::device).distinct().count() != keys.size()) {
            throw new IllegalArgumentException("keys: two for the same device");
        }
        if (Long.compareUnsigned(address.value() + length - 1, address.value()) < 0) {
            throw new IllegalArgumentException(
                    "length: %d from %s runs past the end of the address space".formatted(length, address));
        }
    }
}
