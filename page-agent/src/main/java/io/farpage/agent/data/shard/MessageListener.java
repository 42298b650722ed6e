package io.farpage.agent.data.shard;

import java.lang.foreign.MemorySegment;

/** Receives the messages of all peers of a shard. Called on the shard's thread. */
public interface MessageListener {
    /** Messages may be exchanged from now on. Nothing of an earlier channel to that peer arrives after this. */
    void onOpened(MessageChannel channel);

    /** A message. The segment is valid until this returns. */
    void onMessage(MessageChannel channel, MemorySegment message);

    /** What was sent and not yet received is lost, and the channel is never open again. */
    void onClosed(MessageChannel channel);
}
