package io.farpage.agent.cloudhypervisor;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.ByteChannel;

/**
 * Reads and writes the messages of the migration protocol on one connection: numbers are little-endian, and a head of
 * 16 bytes precedes each payload.
 */
final class Messages {
    static final int START = 1;
    static final int CONFIG = 2;
    static final int STATE = 3;
    static final int COMPLETE = 5;
    static final int ABANDON = 6;
    static final int COMPLETE_PAUSED = 8;
    static final int PAGE_FAULT = 9;

    /** Role of the connection for page faults. */
    private static final short FAULT = 2;

    static final int OK = 1;
    static final int ERROR = 2;
    private static final int HEAD = 16;

    private final ByteChannel channel;

    Messages(ByteChannel channel) {
        this.channel = channel;
    }

    /**
     * The head of a request or response.
     *
     * @param code command of a request, status of a response
     * @param length bytes of what follows
     */
    record Head(int code, long length) {}

    private static ByteBuffer allocate(int bytes) {
        return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    /** Declares a connection to be the one for page faults. */
    void announceFaults() throws IOException {
        write(allocate(Short.BYTES).putShort(FAULT).flip());
    }

    /** Sends a request or a response. Version 0 of the protocol leaves the bytes behind the code zero. */
    void send(int code, byte[] payload) throws IOException {
        write(allocate(HEAD + payload.length)
                .putShort((short) code)
                .putShort((short) 0)
                .putInt(0)
                .putLong(payload.length)
                .put(payload)
                .flip());
    }

    /** @throws EOFException if the peer has ended the connection */
    Head receive() throws IOException {
        ByteBuffer head = read(HEAD);
        int code = Short.toUnsignedInt(head.getShort(0));
        return new Head(code, head.getLong(Long.BYTES));
    }

    /** Numbers that follow a head. */
    ByteBuffer read(int bytes) throws IOException {
        ByteBuffer buffer = allocate(bytes);
        while (buffer.hasRemaining()) {
            if (channel.read(buffer) < 0) {
                throw new EOFException("Cloud Hypervisor has ended the connection");
            }
        }
        return buffer.flip();
    }

    private void write(ByteBuffer bytes) throws IOException {
        while (bytes.hasRemaining()) {
            channel.write(bytes);
        }
    }
}
