package io.farpage.verbs.ibverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.farpage.verbs.ibverbs.WorkRequests.RecvWr;
import io.farpage.verbs.ibverbs.WorkRequests.Sge;

/** A chain of {@code struct ibv_recv_wr}. */
final class RecvChain extends WrChain {
    RecvChain(int capacity, int maxSge) {
        super(capacity, RecvWr.SIZE, RecvWr.SIZE + maxSge * Sge.SIZE, maxSge);
    }

    /** The id of a prepared work request. */
    long id(int index) {
        return memory.get(JAVA_LONG, (long) index * stride + RecvWr.WR_ID);
    }

    void clear() {
        count = 0;
    }

    void add(long id, long address, int length, int lkey) {
        long slot = (long) count * stride;
        memory.set(JAVA_LONG, slot + RecvWr.WR_ID, id);
        memory.set(JAVA_LONG, slot + RecvWr.NEXT, 0L);
        memory.set(JAVA_INT, slot + RecvWr.NUM_SGE, 0);
        if (count > 0) {
            memory.set(JAVA_LONG, last + RecvWr.NEXT, base + slot);
        }
        last = slot;
        lastSges = 0;
        count++;
        addEntry(address, length, lkey);
    }
}
