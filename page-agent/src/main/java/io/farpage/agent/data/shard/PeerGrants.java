package io.farpage.agent.data.shard;

import java.util.Map;

/**
 * All that one incarnation of a peer has granted to this node. Immutable.
 *
 * @param incarnation of the peer
 * @param ranges number of ranges; each has a key for at least one device
 * @param byDevice the ranges as registered with each of the peer's devices, by the peer's name of the device
 */
public record PeerGrants(long incarnation, int ranges, Map<String, DeviceGrants> byDevice) {
    /** The grants of a peer that has granted nothing. */
    public static final PeerGrants NOTHING = new PeerGrants(0, 0, Map.of());

    /** Copies the map. */
    public PeerGrants {
        byDevice = Map.copyOf(byDevice);
    }

    /** Whether the peer has granted an incarnation's ranges, but not each of them for one of its devices. */
    public boolean lacks(long connected, String device) {
        return connected == incarnation && on(connected, device).count() < ranges;
    }

    /** The ranges for a queue pair to an incarnation of the peer on one of its devices. */
    public DeviceGrants on(long connected, String device) {
        return connected == incarnation ? byDevice.getOrDefault(device, DeviceGrants.NOTHING) : DeviceGrants.NOTHING;
    }
}
