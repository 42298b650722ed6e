package io.farpage.agent.control.link;

import io.farpage.agent.control.device.OpenDevice;
import io.farpage.agent.control.link.RailPairs.Pair;
import io.farpage.coordinator.model.Fabric;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * The pairs of RDMA devices over which a link to one peer could not be connected or verified lately. The link avoids
 * them while there are others. Used by the links' thread.
 */
final class RailFailures {
    private final Duration memory;
    private final Map<Pair, Long> failedAt = new HashMap<>();

    /** @param memory how long a pair is avoided */
    RailFailures(Duration memory) {
        this.memory = memory;
    }

    void failed(Pair pair, long now) {
        failedAt.put(pair, now);
    }

    /** All pairs may be tried again: the devices or the peer are others than before. */
    void forget() {
        failedAt.clear();
    }

    /** The rails of the peer that this node's {@code rail} is not connected to. */
    Set<Integer> avoided(int rail, long now) {
        failedAt.values().removeIf(at -> now - at > memory.toNanos());
        return failedAt.keySet().stream()
                .filter(pair -> pair.mine() == rail)
                .map(Pair::theirs)
                .collect(Collectors.toSet());
    }

    /**
     * Adds to what this node's devices may reach what they avoid: pairs that have failed, and devices for which the
     * peer has granted no keys.
     */
    void addTo(Map<OpenDevice, Fabric> fabrics, LinkDevices devices, long now) {
        Map<Integer, String> layers = new HashMap<>();
        fabrics.forEach((device, fabric) -> layers.put(device.rail(), fabric.linkLayer()));
        forgetIfNoneIsLeft(layers, devices.linkLayers(), now);
        fabrics.replaceAll((device, fabric) -> {
            Set<Integer> avoided = new TreeSet<>(avoided(device.rail(), now));
            avoided.addAll(devices.withoutKeys());
            return fabric.avoiding(List.copyOf(avoided));
        });
    }

    /**
     * Forgets the failures if an attempt that uses RDMA has no pair left to try.
     *
     * @param mine link layers of this node's RDMA devices, by rail; empty if the attempt uses none
     * @param theirs those of the peer's
     */
    void forgetIfNoneIsLeft(Map<Integer, String> mine, Map<Integer, String> theirs, long now) {
        boolean isOneLeft = mine.entrySet().stream()
                .anyMatch(own -> theirs.entrySet().stream()
                        .filter(other -> other.getValue().equals(own.getValue()))
                        .anyMatch(other -> !avoided(own.getKey(), now).contains(other.getKey())));
        if (!mine.isEmpty() && !isOneLeft) {
            forget();
        }
    }
}
