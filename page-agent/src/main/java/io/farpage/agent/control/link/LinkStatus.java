package io.farpage.agent.control.link;

import java.util.List;

/**
 * The status of a link, as in the REST API.
 *
 * @param peer node id
 * @param state one of down, offered, connecting, up, leaving
 * @param transport rdma or tcp; empty while there is no queue pair
 * @param device the device it is on, or several, separated by a comma and a space; empty while there is no queue pair
 * @param detail the last failure; empty if there was none
 * @param queuePairs one for each of this node's shards
 */
public record LinkStatus(
        String peer, String state, String transport, String device, String detail, List<OfShard> queuePairs) {

    /**
     * A shard's queue pair.
     *
     * @param shard number of the shard
     * @param state one of down, verifying, up, switching, draining
     * @param device the device it is on; empty while there is none
     */
    public record OfShard(int shard, String state, String device) {}
}
