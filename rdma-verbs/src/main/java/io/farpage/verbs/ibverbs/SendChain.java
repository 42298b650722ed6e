package io.farpage.verbs.ibverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.farpage.linux.Errno;
import io.farpage.verbs.SendFlag;
import io.farpage.verbs.VerbsException;
import io.farpage.verbs.ibverbs.WorkRequests.SendWr;
import io.farpage.verbs.ibverbs.WorkRequests.Sge;
import java.lang.foreign.MemorySegment;

/**
 * A chain of {@code struct ibv_send_wr}, with inline data behind each. Little-endian, as every machine that farpage
 * runs on.
 */
final class SendChain extends WrChain {
    private final int inlineData;
    private final int maxInline;
    private int lastInline;

    SendChain(int capacity, int maxSge, int maxInline) {
        super(capacity, SendWr.SIZE, stride(maxSge, maxInline), maxSge);
        this.inlineData = SendWr.SIZE + maxSge * Sge.SIZE;
        this.maxInline = maxInline;
    }

    /** Bytes of native memory of one work request. */
    static int stride(int maxSge, int maxInline) {
        return (SendWr.SIZE + maxSge * Sge.SIZE + maxInline + 63) & -64;
    }

    /** Discards them all, and unlinks them: an unlinked slot is what {@link #add} expects. */
    void clear() {
        for (long slot = 0; slot < last && count > 1; slot += stride) {
            memory.set(JAVA_LONG, slot + SendWr.NEXT, 0L);
        }
        count = 0;
    }

    /**
     * Adds a work request with one scatter/gather entry, or none if it is empty: some devices take a length of 0 for 2
     * GiB.
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
            setEntry(0, address, length, lkey);
            lastSges = 1;
        }
    }

    /** Sets the remote address and key of the last one. */
    void setRemote(long address, int rkey) {
        memory.set(JAVA_LONG, last + SendWr.REMOTE_ADDR, address);
        memory.set(JAVA_INT, last + SendWr.RKEY, rkey);
    }

    /** Adds an entry to the last one. */
    void append(long address, int length, int lkey) {
        if (count > 0 && lastInline >= 0) {
            requireInline(memory.get(JAVA_INT, last + SendWr.OPCODE), lastInline + length);
            copyInline(address, length);
            memory.set(JAVA_INT, last + SendWr.NUM_SGE, lastInline == 0 ? 0 : 1);
            return;
        }
        addEntry(address, length, lkey);
    }

    /** Appends to the inline data of the last one, which stays one piece. */
    private void copyInline(long address, int length) {
        // SAFETY: the caller owns these bytes until completion, as QueuePair demands of every work request.
        MemorySegment.copy(Native.ALL, address, memory, last + inlineData + lastInline, length);
        lastInline += length;
        setEntry(0, base + last + inlineData, lastInline, 0);
    }

    private void requireInline(int opcode, int length) {
        if (opcode == WorkRequests.Opcode.RDMA_READ) {
            throw new IllegalArgumentException("a READ receives data, so it cannot be INLINE");
        }
        if (length > maxInline) {
            throw new VerbsException(
                    length + " bytes are too many to be INLINE; max_inline_data is " + maxInline, Errno.EINVAL);
        }
    }
}
