package io.farpage.verbs.ibverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.farpage.verbs.ibverbs.WorkRequests.RecvWr;
import io.farpage.verbs.ibverbs.WorkRequests.Sge;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** The chain of {@code struct ibv_recv_wr} being prepared; made and used as {@link SendChain} is. */
final class RecvChain {
    private static final int SGES = RecvWr.SIZE;

    private final MemorySegment memory;
    private final long base;
    private final int stride;
    private final int maxSge;
    private int count;
    private long last;
    private int lastSges;

    RecvChain(int capacity, int maxSge) {
        this.maxSge = maxSge;
        this.stride = SGES + maxSge * Sge.SIZE;
        this.memory = Arena.ofAuto().allocate((long) capacity * stride, 64);
        this.base = memory.address();
        for (long slot = 0; slot < memory.byteSize(); slot += stride) {
            memory.set(JAVA_LONG, slot + RecvWr.SG_LIST, base + slot + SGES);
        }
    }

    int count() {
        return count;
    }

    long first() {
        return base;
    }

    int indexOf(long address) {
        return (int) ((address - base) / stride);
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
        scatter(address, length, lkey);
    }

    /** Adds an entry to the last one. */
    void append(long address, int length, int lkey) {
        if (count == 0) {
            throw new IllegalStateException("no receive is prepared to add a scatter entry to");
        }
        if (lastSges == maxSge) {
            throw new IllegalStateException("the receive has " + maxSge + " scatter entries already; raise max_sge");
        }
        scatter(address, length, lkey);
    }

    private void scatter(long address, int length, int lkey) {
        if (length == 0) {
            return;
        }
        long entry = last + SGES + (long) lastSges * Sge.SIZE;
        memory.set(JAVA_LONG, entry + Sge.ADDR, address);
        memory.set(JAVA_INT, entry + Sge.LENGTH, length);
        memory.set(JAVA_INT, entry + Sge.LKEY, lkey);
        lastSges++;
        memory.set(JAVA_INT, last + RecvWr.NUM_SGE, lastSges);
    }
}
