package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.OptionalInt;

/**
 * One port of one device that a node has open.
 *
 * @param name such as {@code mlx5_0} or {@code soft0}; grants name their keys by it
 * @param transport what it offers
 * @param port 1..255; the soft provider says 1
 * @param linkLayer such as {@code InfiniBand}, {@code Ethernet}
 * @param numaNode the NUMA node it hangs on, if known
 * @param rail its number among those of the same transport, by which queue pairs name it, 0..63; agents of earlier
 *     releases leave it out
 */
public record DeviceInfo(
        @JsonProperty(required = true) String name,
        @JsonProperty(required = true) TransportKind transport,
        @JsonProperty(required = true) int port,
        @JsonProperty(required = true) String linkLayer,
        OptionalInt numaNode,
        OptionalInt rail) {

    /** Checks the fields. */
    public DeviceInfo {
        Check.text("name", name, 64);
        Check.range("port", port, 1, 255);
        Check.text("linkLayer", linkLayer, 32);
        numaNode.ifPresent(node -> Check.range("numaNode", node, 0, 65535));
        rail.ifPresent(number -> Check.range("rail", number, 0, 63));
    }
}
