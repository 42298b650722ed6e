package io.farpage.verbs.ibverbs;

/** The 64 bits that travel with a work request through the device: its kind in the low two, and where to find it. */
final class WrId {
    static final int SEND = 0;
    static final int RECV = 1;
    static final int SHARED_RECV = 2;

    private static final int SLOT_BITS = 24;
    private static final int SLOT_MASK = (1 << SLOT_BITS) - 1;

    /** The most slots of one shared receive queue. */
    static final int MAX_SLOTS = 1 << SLOT_BITS;

    private WrId() {}

    static long ofSend(long sequence) {
        return (sequence << 2) | SEND;
    }

    static long ofRecv(long sequence) {
        return (sequence << 2) | RECV;
    }

    static long ofSharedRecv(int queue, int slot) {
        return ((((long) queue << SLOT_BITS) | slot) << 2) | SHARED_RECV;
    }

    static int kind(long id) {
        return (int) (id & 3);
    }

    static long sequence(long id) {
        return id >>> 2;
    }

    static int sharedQueue(long id) {
        return (int) (id >>> (SLOT_BITS + 2));
    }

    static int slot(long id) {
        return (int) ((id >>> 2) & SLOT_MASK);
    }
}
