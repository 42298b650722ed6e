package io.farpage.agent.data.shard;

import io.farpage.verbs.QueuePair;
import java.util.Optional;

/**
 * A queue pair to a peer, and what a shard needs to use it.
 *
 * @param queuePair in RTS
 * @param rail the device that it is on
 * @param incarnation of the peer, as the control plane agreed it
 * @param memory of the peer, as registered with the peer's device
 * @param attempt number of the attempt to connect, by which the control plane tells queue pairs apart
 * @param hello the receive for the peer's first message; empty if the queue pair carries no messages, since one of the
 *     nodes exchanges none
 */
public record Connection(
        QueuePair queuePair,
        Rail rail,
        long incarnation,
        PeerMemory memory,
        long attempt,
        Optional<HelloReceive> hello) {

    /** A queue pair that carries no messages. */
    public Connection(QueuePair queuePair, Rail rail, long incarnation, PeerMemory memory, long attempt) {
        this(queuePair, rail, incarnation, memory, attempt, Optional.empty());
    }
}
