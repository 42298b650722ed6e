package io.farpage.verbs.ibverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import io.farpage.verbs.ibverbs.Structs.DeviceAttr;
import java.lang.foreign.MemorySegment;

/**
 * Where a kind of device departs from the specification in a way that callers would notice.
 *
 * @param maxRetryCnt the largest retry_cnt that ends
 * @param sleepsInError whether something posted in ERR is flushed only when the device is moved to ERR once more
 */
record Quirks(int maxRetryCnt, boolean sleepsInError) {
    private static final int RXE_VENDOR_ID = 0xFF_FFFF;
    private static final Quirks NONE = new Quirks(7, false);

    /**
     * SoftRoCE retries without limit if retry_cnt is 7, which the specification has for rnr_retry only: a dead peer
     * would never be detected. Its receive queue is plain memory: a post in ERR enters no kernel code that would flush
     * it.
     */
    private static final Quirks RXE = new Quirks(6, true);

    /** @param deviceAttr {@code struct ibv_device_attr} */
    static Quirks of(MemorySegment deviceAttr) {
        return deviceAttr.get(JAVA_INT, DeviceAttr.VENDOR_ID) == RXE_VENDOR_ID ? RXE : NONE;
    }
}
