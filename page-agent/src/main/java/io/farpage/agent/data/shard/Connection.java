package io.farpage.agent.data.shard;

import io.farpage.verbs.QueuePair;

/**
 * A queue pair to a peer, and what a shard needs to use it.
 *
 * @param queuePair in RTS
 * @param rail the device that it is on
 * @param incarnation of the peer, as the control plane agreed it
 * @param memory of the peer, as registered with the peer's device
 * @param attempt number of the attempt to connect, by which the control plane tells queue pairs apart
 */
public record Connection(QueuePair queuePair, Rail rail, long incarnation, PeerMemory memory, long attempt) {}
