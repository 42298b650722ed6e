package io.farpage.agent.control.link;

import io.farpage.agent.control.device.OpenDevice;
import io.farpage.agent.control.device.Transports;
import java.util.List;
import java.util.function.LongSupplier;

/**
 * What all links of this node work with.
 *
 * @param node this node's id
 * @param transports the open devices
 * @param shards in the order of their numbers
 * @param destroyer destroys the queue pairs of all links
 * @param clock monotonic nanoseconds
 */
record LinkContext(
        String node,
        Transports transports,
        List<LinkShard> shards,
        LinkOptions options,
        Destroyer destroyer,
        LongSupplier clock) {
    LinkContext {
        shards = List.copyOf(shards);
    }

    long now() {
        return clock.getAsLong();
    }

    /** The usable devices on which every shard can create queue pairs, best first. */
    List<OpenDevice> usableDevices() {
        return transports.devices().stream()
                .filter(OpenDevice::isUsable)
                .filter(device ->
                        shards.stream().allMatch(shard -> shard.rails().has(device)))
                .toList();
    }
}
