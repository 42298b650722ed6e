package io.farpage.agent.data.shard;

import java.lang.foreign.MemorySegment;

/**
 * Sends messages to a peer, over one queue pair of its link. They arrive once and in order, until the channel closes.
 * A message has a header of {@link #HEADER_BYTES}, and up to 4096 bytes behind it.
 *
 * <p>Each message takes a credit, which is a receive that the peer has posted. The peer gives credits back behind
 * {@link MessageListener#onMessage}, so no message ever finds a receiver that is not ready.
 *
 * <p>A link that moves to a better transport ({@link LinkPhase#SWITCHING}) gives no credits until all that was sent has
 * arrived. Then this channel closes, and another one opens over the new queue pair. What the peer still sends on the
 * old one is lost, as with each channel that closes. If the move is given up, the channel goes on.
 *
 * <p>The shard's thread only.
 */
public interface MessageChannel {
    /** Bytes of the header, and of the shortest message. */
    int HEADER_BYTES = 64;

    /** Bytes of the longest message. */
    int MAX_BYTES = HEADER_BYTES + 4096;

    /** Bytes at the start of the header that the channel itself writes; the others are the sender's. */
    int PLANE_BYTES = 8;

    /** Node id of the peer. */
    String peer();

    /** The peer's incarnation, as the {@link Connection} says. */
    long incarnation();

    boolean isOpen();

    /** Messages that may be sent now; none while the link is switched or the channel is closed. */
    int credits();

    /**
     * The next send buffer, {@link #MAX_BYTES} long, with bytes of earlier messages in it. Needs a credit. The same one
     * until {@link #send}.
     */
    MemorySegment claim();

    /**
     * Sends what was written to {@link #claim()}. It goes out at the doorbell of this half of the duty cycle.
     *
     * @param length {@link #HEADER_BYTES} to {@link #MAX_BYTES}
     */
    void send(int length);
}
