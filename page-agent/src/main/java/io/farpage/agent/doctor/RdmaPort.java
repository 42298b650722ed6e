package io.farpage.agent.doctor;

import io.farpage.verbs.LinkLayer;
import java.util.List;
import java.util.Optional;

/**
 * A port as sysfs tells it.
 *
 * @param device name of the device
 * @param number from 1
 * @param state such as {@code ACTIVE}
 * @param physicalState such as {@code LinkUp}
 * @param rate such as {@code 100 Gb/sec (4X EDR)}
 * @param netdev network interface of a RoCE port
 * @param netdevMtu its MTU in bytes
 * @param gids entries in use, of those that were read
 */
record RdmaPort(
        String device,
        int number,
        String state,
        String physicalState,
        LinkLayer linkLayer,
        String rate,
        Optional<String> netdev,
        Optional<Long> netdevMtu,
        List<RdmaGid> gids) {
    /** Headers that RoCE v2 may need within the MTU of the network: the kernel takes these off before it picks a path MTU. */
    private static final int ROCE_HEADERS = 96;

    String name() {
        return device + "/" + number;
    }

    boolean isActive() {
        return state.equals("ACTIVE");
    }

    boolean isEthernet() {
        return linkLayer == LinkLayer.ETHERNET;
    }

    /** The path MTU in bytes that the interface's MTU leaves room for. */
    Optional<Integer> roceMtu() {
        return netdevMtu.map(mtu -> {
            int path = 256;
            while (path < 4096 && path * 2 + ROCE_HEADERS <= mtu) {
                path *= 2;
            }
            return path;
        });
    }
}
