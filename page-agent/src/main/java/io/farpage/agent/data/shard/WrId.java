package io.farpage.agent.data.shard;

/**
 * A shard's work request ids: 16 bits of fetcher, 16 bits of generation, 32 bits of slot. By its generation a
 * completion of an earlier queue pair is recognised.
 */
final class WrId {
    private static final int HEADER = 0xFFFF;

    private WrId() {}

    static long of(int fetcher, char generation, int slot) {
        return (long) fetcher << 48 | (long) generation << 32 | slot;
    }

    /** The id of the READ of a pool header; the slot is the link's number. */
    static long header(char generation, int number) {
        return of(HEADER, generation, number);
    }

    static boolean isHeader(long wrId) {
        return fetcher(wrId) == HEADER;
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
