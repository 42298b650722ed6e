package io.farpage.agent.control.link;

import io.farpage.agent.control.device.OpenDevice;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The devices that an attempt at a link may use.
 *
 * @param mine this node's, best first
 * @param linkLayers of the peer's RDMA devices, by rail
 * @param withoutKeys rails of the peer for which it has granted ranges without a key
 */
record LinkDevices(List<OpenDevice> mine, Map<Integer, String> linkLayers, Set<Integer> withoutKeys) {
    LinkDevices {
        mine = List.copyOf(mine);
        linkLayers = Map.copyOf(linkLayers);
        withoutKeys = Set.copyOf(withoutKeys);
    }

    boolean isEmpty() {
        return mine.isEmpty();
    }
}
