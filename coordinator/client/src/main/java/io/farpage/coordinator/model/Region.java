package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * Memory that a node has registered for its peers.
 *
 * @param node whose memory
 * @param name of the region
 * @param incarnation of the node; keys of another are worthless
 * @param address where it begins in the node's process
 * @param length in bytes
 * @param keys one for each device
 */
public record Region(
        @JsonProperty(required = true) String node,
        @JsonProperty(required = true) String name,
        @JsonProperty(required = true) Incarnation incarnation,
        @JsonProperty(required = true) RemoteAddress address,
        @JsonProperty(required = true) long length,
        @JsonProperty(required = true) List<RegionKey> keys) {

    /** Copies the keys. */
    public Region {
        keys = List.copyOf(keys);
    }

    /** Checks a region's name, with the rules of node ids. */
    public static String checkName(String name) {
        return Check.name("region name", name);
    }
}
