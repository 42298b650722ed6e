package io.farpage.verbs.ibverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.farpage.verbs.ibverbs.WorkRequests.SendWr;
import io.farpage.verbs.ibverbs.WorkRequests.Sge;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * The chain of work requests being prepared: preallocated slots, each a work request with its scatter/gather list
 * behind it, patched in place. The library copies a chain when it is posted, so the next one starts at the first slot
 * again. {@code ibv_send_wr} and {@code ibv_recv_wr} begin alike.
 */
abstract sealed class WrChain permits SendChain, RecvChain {
    final MemorySegment memory;
    final long base;
    final int stride;
    /** Where the scatter/gather list of a slot begins. */
    final int entries;

    private final int maxSge;
    private final MemorySegment badWr = Arena.ofAuto().allocate(JAVA_LONG);
    int count;
    long last;
    int lastSges;

    /**
     * @param entries bytes of a slot before its scatter/gather list
     * @param stride bytes of a slot
     */
    WrChain(int capacity, int entries, int stride, int maxSge) {
        this.entries = entries;
        this.stride = stride;
        this.maxSge = maxSge;
        this.memory = Arena.ofAuto().allocate((long) capacity * stride, 64);
        this.base = memory.address();
        for (long slot = 0; slot < memory.byteSize(); slot += stride) {
            memory.set(JAVA_LONG, slot + SendWr.SG_LIST, base + slot + entries);
        }
    }

    /** Work requests prepared. */
    final int count() {
        return count;
    }

    /** Address of the first. */
    final long first() {
        return base;
    }

    /** Address where a post call names the work request that it refuses. */
    final long badWr() {
        return badWr.address();
    }

    /** What became of the chain when a post call returned {@code errno}. */
    final Refusal refusal(int errno) {
        // A device writes it only when it refuses, so it is reset only then.
        long bad = badWr.get(JAVA_LONG, 0);
        badWr.set(JAVA_LONG, 0, 0L);
        long index = (bad - base) / stride;
        return new Refusal(errno, index >= 0 && index < count ? (int) index : count, count);
    }

    /** Adds an entry to the last one, if it is not empty: some devices take a length of 0 for 2 GiB. */
    final void addEntry(long address, int length, int lkey) {
        if (count == 0) {
            throw new IllegalStateException("no work request is prepared to add a scatter/gather entry to");
        }
        if (lastSges == maxSge) {
            throw new IllegalStateException(
                    "the work request has " + maxSge + " scatter/gather entries already; raise max_sge");
        }
        if (length != 0) {
            setEntry(lastSges++, address, length, lkey);
            memory.set(JAVA_INT, last + SendWr.NUM_SGE, lastSges);
        }
    }

    final void setEntry(int index, long address, int length, int lkey) {
        long entry = last + entries + (long) index * Sge.SIZE;
        memory.set(JAVA_LONG, entry + Sge.ADDR, address);
        memory.set(JAVA_LONG, entry + Sge.LENGTH, pair(length, lkey));
    }

    /** Two neighbouring 32-bit fields, written at once: a store through a segment costs the same for either width. */
    static long pair(int low, int high) {
        return ((long) high << Integer.SIZE) | Integer.toUnsignedLong(low);
    }
}
