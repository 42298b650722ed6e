package io.farpage.agent.data.shard;

/**
 * A shard's work request ids: 16 bits of fetcher, 16 bits of generation, 32 bits of slot. By its generation a
 * completion of an earlier queue pair is recognised. Two numbers belong to no fetcher: one to READs of pool headers,
 * one to messages.
 */
final class WrId {
    private static final int HEADER = 0xFFFF;
    private static final int MESSAGE = 0xFFFE;

    /** Kinds of work requests of messages: the number is that of a {@link HelloReceive}. */
    static final int HELLO_RECEIVE = 0;
    /** The number is that of a channel, and so for the others. */
    static final int RECEIVE = 1;

    static final int SEND = 2;
    static final int CREDIT = 3;
    static final int HELLO = 4;
    /** A WRITE of no bytes, whose completion is that of the SENDs before it. */
    static final int FLUSH = 5;

    private WrId() {}

    static long of(int fetcher, char generation, int slot) {
        return (long) fetcher << 48 | (long) generation << 32 | slot;
    }

    /** The id of the READ of a pool header; the slot is the link's number. */
    static long header(char generation, int number) {
        return of(HEADER, generation, number);
    }

    /** Whether it is of no fetcher. */
    static boolean isReserved(long wrId) {
        return fetcher(wrId) >= MESSAGE;
    }

    /** Whether it is of the receive of a message. */
    static boolean isReceive(long wrId) {
        return fetcher(wrId) == MESSAGE && kind(wrId) <= RECEIVE;
    }

    static boolean isHeader(long wrId) {
        return fetcher(wrId) == HEADER;
    }

    /** The id of a work request of messages; the slot has 8 bits of kind, 16 of number and 8 of buffer. */
    static long message(int kind, char generation, int number, int buffer) {
        return of(MESSAGE, generation, kind << 24 | number << 8 | buffer);
    }

    static int kind(long wrId) {
        return slot(wrId) >>> 24;
    }

    static int number(long wrId) {
        return slot(wrId) >>> 8 & 0xFFFF;
    }

    static int buffer(long wrId) {
        return slot(wrId) & 0xFF;
    }

    static int fetcher(long wrId) {
        return (int) (wrId >>> 48);
    }

    static char generation(long wrId) {
        return (char) (wrId >>> 32);
    }

    static int slot(long wrId) {
        return (int) wrId;
    }
}
