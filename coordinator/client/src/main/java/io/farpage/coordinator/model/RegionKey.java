package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * The key of memory for one device.
 *
 * @param device as the node's registration names it
 * @param rkey 32 bits, unsigned
 */
public record RegionKey(
        @JsonProperty(required = true) String device,
        @JsonProperty(required = true) long rkey) {

    /** Checks the fields. */
    public RegionKey {
        Check.text("device", device, 64);
        Check.range("rkey (32 bits)", rkey, 0, 0xffff_ffffL);
    }
}
