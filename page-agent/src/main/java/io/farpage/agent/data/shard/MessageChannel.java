package io.farpage.agent.data.shard;

import java.lang.foreign.MemorySegment;

/** The messages that are exchanged with one peer over one queue pair. The shard's thread only. */
public interface MessageChannel {
    int HEADER_BYTES = 64;
    int MAX_BYTES = HEADER_BYTES + 4096;

    /** Node id of the peer. */
    String peer();

    /** Of the peer. */
    long incarnation();

    boolean isOpen();

    /** Messages that may be sent now. */
    int credits();

    /** The next send buffer, of {@link #MAX_BYTES}. Needs a credit. */
    MemorySegment claim();

    /** Sends what was claimed. */
    void send(int length);
}
