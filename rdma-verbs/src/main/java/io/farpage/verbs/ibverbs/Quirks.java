package io.farpage.verbs.ibverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import io.farpage.verbs.ibverbs.Structs.DeviceAttr;
import java.lang.foreign.MemorySegment;

/**
 * Where a kind of device departs from the specification in a way that callers would notice.
 *
 * @param maxRetryCnt the largest retry_cnt that ends
 * @param sleepsInError whether something posted in ERR is flushed only when the device is told once more to go to ERR
 */
record Quirks(int maxRetryCnt, boolean sleepsInError) {
    private static final int RXE_VENDOR_ID = 0xFF_FFFF;
    private static final Quirks NONE = new Quirks(7, false);

    /**
     * SoftRoCE takes a retry_cnt of 7 for "for ever", which the specification has for rnr_retry only: a dead peer would never be noticed.
     * And its receive queue is plain memory that the kernel is not told of.
     */
    private static final Quirks RXE = new Quirks(6, true);

    /** @param deviceAttr {@code struct ibv_device_attr} */
    static Quirks of(MemorySegment deviceAttr) {
        return deviceAttr.get(JAVA_INT, DeviceAttr.VENDOR_ID) == RXE_VENDOR_ID ? RXE : NONE;
    }
}
