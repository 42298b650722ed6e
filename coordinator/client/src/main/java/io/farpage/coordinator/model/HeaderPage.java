package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * The header page of a node's pool, as a peer reads it over one device to see whose pool it is.
 *
 * @param address of its first byte, in the node's process
 * @param rkey the device's key for it, 32 bits, unsigned
 */
public record HeaderPage(
        @JsonProperty(required = true) RemoteAddress address,
        @JsonProperty(required = true) long rkey) {

    /** Checks the key. */
    public HeaderPage {
        Check.range("header: rkey (32 bits)", rkey, 0, 0xffff_ffffL);
    }
}
