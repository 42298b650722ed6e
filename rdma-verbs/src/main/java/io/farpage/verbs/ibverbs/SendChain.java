package io.farpage.verbs.ibverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.farpage.linux.Errno;
import io.farpage.verbs.SendFlag;
import io.farpage.verbs.VerbsException;
import io.farpage.verbs.ibverbs.WorkRequests.SendWr;
import io.farpage.verbs.ibverbs.WorkRequests.Sge;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/**
 * The chain of {@code struct ibv_send_wr} being prepared: preallocated slots, each a work request with its scatter/gather list
 * and its inline data behind it, patched in place. The library copies a chain when it is posted, so the next one starts at
 * the first slot again. Little-endian, as every machine that farpage runs on.
 */
final class SendChain {
    static final ValueLayout.OfInt NETWORK_INT = JAVA_INT.withOrder(ByteOrder.BIG_ENDIAN);

    private static final int SGES = SendWr.SIZE;

    private final MemorySegment memory;
    private final long base;
    private final int stride;
    private final int inlineData;
    private final int maxSge;
    private final int maxInline;
    private int count;
    private long last;
    private int lastSges;
    private int lastInline;

    SendChain(int capacity, int maxSge, int maxInline) {
        this.maxSge = maxSge;
        this.maxInline = maxInline;
        this.inlineData = SGES + maxSge * Sge.SIZE;
        this.stride = (inlineData + maxInline + 63) & -64;
        this.memory = Arena.ofAuto().allocate((long) capacity * stride, 64);
        this.base = memory.address();
        for (long slot = 0; slot < memory.byteSize(); slot += stride) {
            memory.set(JAVA_LONG, slot + SendWr.SG_LIST, base + slot + SGES);
        }
    }

    /** Work requests prepared. */
    int count() {
        return count;
    }

    /** Address of the first. */
    long first() {
        return base;
    }

    /** How many work requests lie before the one at {@code address}. */
    int indexOf(long address) {
        return (int) ((address - base) / stride);
    }

    /** Forgets them all, and unlinks them: an unlinked slot is what {@link #add} expects. */
    void clear() {
        for (long slot = 0; slot < last && count > 1; slot += stride) {
            memory.set(JAVA_LONG, slot + SendWr.NEXT, 0L);
        }
        count = 0;
    }

    /**
     * Adds a work request with one scatter/gather entry, or none if it is empty: some devices take a length of 0 for 2 GiB.
     *
     * @throws VerbsException if inline data is too long; nothing is added
     */
    void add(long id, int opcode, int flags, long address, int length, int lkey) {
        boolean inline = (flags & SendFlag.INLINE) != 0;
        if (inline) {
            requireInline(opcode, length);
        }
        long slot = (long) count * stride;
        memory.set(JAVA_LONG, slot + SendWr.WR_ID, id);
        memory.set(JAVA_LONG, slot + SendWr.NUM_SGE, pair(length == 0 ? 0 : 1, opcode));
        memory.set(JAVA_INT, slot + SendWr.SEND_FLAGS, flags);
        if (count > 0) {
            memory.set(JAVA_LONG, last + SendWr.NEXT, base + slot);
        }
        last = slot;
        lastSges = 0;
        lastInline = inline ? 0 : -1;
        count++;
        if (inline) {
            copyInline(address, length);
        } else if (length != 0) {
            setSge(0, address, length, lkey);
            lastSges = 1;
        }
    }

    /** Two neighbouring 32-bit fields, written at once: a store through a segment costs the same for either width. */
    private static long pair(int low, int high) {
        return ((long) high << Integer.SIZE) | Integer.toUnsignedLong(low);
    }

    /** Sets the remote address and key of the last one. */
    void setRemote(long address, int rkey) {
        memory.set(JAVA_LONG, last + SendWr.REMOTE_ADDR, address);
        memory.set(JAVA_INT, last + SendWr.RKEY, rkey);
    }

    void setImmediate(int immediate) {
        memory.set(NETWORK_INT, last + SendWr.IMM_DATA, immediate);
    }

    void setAtomic(long address, int rkey, long compareOrAdd, long swap) {
        memory.set(JAVA_LONG, last + SendWr.REMOTE_ADDR, address);
        memory.set(JAVA_LONG, last + SendWr.COMPARE_ADD, compareOrAdd);
        memory.set(JAVA_LONG, last + SendWr.SWAP, swap);
        memory.set(JAVA_INT, last + SendWr.ATOMIC_RKEY, rkey);
    }

    /** Adds an entry to the last one. */
    void append(long address, int length, int lkey) {
        if (count == 0) {
            throw new IllegalStateException("no work request is prepared to add a scatter/gather entry to");
        }
        if (lastInline >= 0) {
            requireInline(memory.get(JAVA_INT, last + SendWr.OPCODE), lastInline + length);
            copyInline(address, length);
            memory.set(JAVA_INT, last + SendWr.NUM_SGE, lastInline == 0 ? 0 : 1);
            return;
        }
        if (lastSges == maxSge) {
            throw new IllegalStateException(
                    "the work request has " + maxSge + " scatter/gather entries already; raise max_sge");
        }
        if (length != 0) {
            setSge(lastSges++, address, length, lkey);
            memory.set(JAVA_INT, last + SendWr.NUM_SGE, lastSges);
        }
    }

    /** Appends to the inline data of the last one, which stays one piece. */
    private void copyInline(long address, int length) {
        // SAFETY: the caller owns these bytes from here until completion, as QueuePair demands of every work request.
        MemorySegment.copy(Native.ALL, address, memory, last + inlineData + lastInline, length);
        lastInline += length;
        setSge(0, base + last + inlineData, lastInline, 0);
    }

    private void setSge(int index, long address, int length, int lkey) {
        long entry = last + SGES + (long) index * Sge.SIZE;
        memory.set(JAVA_LONG, entry + Sge.ADDR, address);
        memory.set(JAVA_LONG, entry + Sge.LENGTH, pair(length, lkey));
    }

    private void requireInline(int opcode, int length) {
        if (opcode >= WorkRequests.Opcode.RDMA_READ) {
            throw new IllegalArgumentException("a READ or an atomic brings data and so cannot be INLINE");
        }
        if (length > maxInline) {
            throw new VerbsException(
                    length + " bytes are too many to be INLINE; max_inline_data is " + maxInline, Errno.EINVAL);
        }
    }
}
