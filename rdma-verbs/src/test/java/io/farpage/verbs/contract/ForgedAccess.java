package io.farpage.verbs.contract;

import io.farpage.verbs.QueuePair;
import io.farpage.verbs.SendFlag;

/**
 * One access to a {@link ForgedPool} that must be refused.
 *
 * @param why what is wrong with it
 * @param address first remote byte
 * @param length bytes
 */
record ForgedAccess(Reason why, Operation operation, long address, int length, int rkey) {
    /** What is wrong with an access. */
    enum Reason {
        /** A key that no region has or had. */
        UNKNOWN_KEY,
        /** A right key with one more, one less, or one bit changed. */
        ALTERED_KEY,
        /** The key of one region and an address of another one. */
        KEY_OF_ANOTHER_REGION,
        /** The key of a region that was deregistered, and its address. */
        DEREGISTERED_KEY,
        /** The key of a region of another protection domain, and its address. */
        KEY_OF_ANOTHER_DOMAIN,
        /** The right key, and a range that begins before its region or ends behind it: by a byte, by a page. */
        OUTSIDE_BY_LITTLE,
        /** The right key and any address. */
        ANY_ADDRESS,
        /** The right key and a range that goes on at address 0. */
        WRAPS_AROUND,
        /** The right key and address, for what the region was not registered for. */
        NOT_PERMITTED
    }

    /** What is asked for. */
    enum Operation {
        READ,
        WRITE
    }

    /** Prepares it on {@code queuePair}, with {@code local} as the place of its data. */
    void prepare(QueuePair queuePair, long wrId, long local, int lkey) {
        switch (operation) {
            case READ -> queuePair.prepareRead(wrId, local, length, lkey, address, rkey, SendFlag.SIGNALED);
            case WRITE -> queuePair.prepareWrite(wrId, local, length, lkey, address, rkey, SendFlag.SIGNALED);
        }
    }

    @Override
    public String toString() {
        return "%s %s of %d bytes at 0x%x with rkey 0x%08x".formatted(why, operation, length, address, rkey);
    }
}
