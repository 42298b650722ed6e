package io.farpage.agent.data.shard;

import java.lang.foreign.MemorySegment;

/**
 * Receives the messages of all peers of a shard. Called on the shard's thread, which fails the link if a method throws.
 * For each channel {@link #onOpened} comes first, and {@link #onClosed} last.
 */
public interface MessageListener {
    /**
     * Messages may be exchanged from now on, unless the channel has failed already ({@link MessageChannel#isOpen}).
     * Nothing of an earlier channel to that peer arrives after this.
     */
    void onOpened(MessageChannel channel);

    /**
     * A message.
     *
     * @param message as long as what was sent, and valid until this returns; its first
     *     {@link MessageChannel#PLANE_BYTES} bytes belong to the channel
     */
    void onMessage(MessageChannel channel, MemorySegment message);

    /**
     * The channel is closed: its queue pair has failed, or the link uses another one. What was sent and not yet
     * received is lost, and the channel is never open again.
     */
    void onClosed(MessageChannel channel);
}
