package io.farpage.coordinator.model;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * Which devices of the peer a queue pair's RDMA device may reach, by which both nodes choose the same pairs of devices
 * for a link.
 *
 * @param linkLayer of the port, such as {@code INFINIBAND}, {@code ETHERNET}; ports of different ones do not reach each
 *     other
 * @param subnet of the port's GID, such as {@code 10.0.0.0/16}, or {@code fe80::/64} on InfiniBand; absent if unknown
 * @param avoids rails of the peer that this device is not connected to, since that failed or the peer has granted no
 *     keys for them, each 0..63
 * @param peerRail the rail of the peer that the queue pair is connected to, 0..63; absent in an offer that answers none
 */
public record Fabric(
        @JsonProperty(required = true) String linkLayer,
        Optional<String> subnet,
        @JsonProperty(required = true) List<Integer> avoids,
        OptionalInt peerRail) {

    /** Checks the fields and copies the list. */
    public Fabric {
        Check.text("linkLayer", linkLayer, 32);
        subnet.ifPresent(text -> Check.text("subnet", text, 64));
        avoids = List.copyOf(avoids);
        Check.range("avoids: number of elements", avoids.size(), 0, 64);
        avoids.forEach(rail -> Check.range("avoids", rail, 0, 63));
        peerRail.ifPresent(rail -> Check.range("peerRail", rail, 0, 63));
    }

    /** A fabric that avoids nothing, of a queue pair that is not connected. */
    public static Fabric of(String linkLayer, Optional<String> subnet) {
        return new Fabric(linkLayer, subnet, List.of(), OptionalInt.empty());
    }

    /** The same without the rails of the peer that the device is not connected to. */
    public Fabric avoiding(List<Integer> rails) {
        return new Fabric(linkLayer, subnet, rails, peerRail);
    }

    /** The same of a queue pair that is connected to a rail of the peer. */
    public Fabric connectedTo(int rail) {
        return new Fabric(linkLayer, subnet, avoids, OptionalInt.of(rail));
    }
}
