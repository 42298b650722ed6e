package io.farpage.verbs.soft;

import io.farpage.linux.Message;

/**
 * The bytes of one connection after its handshake, plain or encrypted. One thread at a time; does not own the
 * descriptor.
 */
sealed interface SocketStream permits PlainStream, EncryptedStream {
    /**
     * Receives up to {@code length} bytes. Returns how many came, 0 at the end of the stream, or a negative error
     * number.
     */
    long receive(long address, long length, int flags);

    /** As {@link #receive(long, long, int)}, into the buffers of a message that is not empty. */
    long receive(Message into, int flags);

    /**
     * Takes bytes of a message that is not empty for sending. Returns how many were taken, or a negative error number.
     */
    long send(Message from, int flags);

    /**
     * Sends bytes that were taken and that the socket had no space for.
     *
     * @return how many were sent, or a negative error number if none was
     */
    long flush(int flags);

    /** Whether bytes were taken that {@link #flush} has to send. */
    boolean hasUnsent();

    /**
     * Whether bytes have left the socket and wait to be received from this stream: the socket does not become readable
     * for them.
     */
    boolean hasReceived();

    /** Frees what the stream holds beside the descriptor. */
    void close();
}
