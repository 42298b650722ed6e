package io.farpage.verbs.soft;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import io.farpage.linux.Message;
import io.farpage.verbs.AccessFlag;
import io.farpage.verbs.QueueFullException;
import io.farpage.verbs.SendFlag;
import io.farpage.verbs.VerbsException;
import io.farpage.verbs.WcStatus;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;

/**
 * The send work requests of a queue pair: a ring that is also the output queue, since each slot holds its encoded
 * request. Positions only ever grow; {@code head ≤ acked ≤ sent ≤ posted ≤ prepared}.
 */
final class SendQueue {
    private static final int EINVAL = 22;
    /** In {@link #flags}, beside those of a {@link SendFlag}: the peer replies only if it refuses. */
    private static final byte UNANSWERED = (byte) 0x80;

    private final String owner;
    /** Work requests that it takes; 0 once it is closed. */
    private int capacity;

    private final int mask;
    private final int maxSge;
    private final int maxInline;

    private final long[] wrIds;
    private final byte[] opcodes;
    private final byte[] flags;
    private final int[] sgeCounts;
    private final int[] payloads;
    private final long[] addresses;
    private final int[] lengths;
    private final int[] lkeys;

    /** One request header per slot, side by side, so that a run of READs is one buffer to send. */
    private final MemorySegment requests;
    /** One reply header per slot, side by side, so that a run of acknowledgements is one buffer to receive. */
    private final MemorySegment replies;
    /** Inline data per slot. */
    private final MemorySegment inline;

    private final int inlineStride;

    /** Oldest work request whose completion has not been polled. */
    long head;
    /** Oldest one without a whole reply. */
    long acked;
    /** Oldest one not wholly sent. */
    long sent;

    long posted;
    long prepared;

    private long readsSent;
    private long readsAcked;
    /** Behind the newest one that is sent and replied to. */
    private long answered;

    private int firstPsn;

    SendQueue(String owner, int capacity, int maxSge, int maxInline, SegmentAllocator memory) {
        this.owner = owner;
        this.capacity = capacity;
        this.maxSge = maxSge;
        this.maxInline = maxInline;
        int slots = slots(capacity);
        this.mask = slots - 1;
        this.wrIds = new long[slots];
        this.opcodes = new byte[slots];
        this.flags = new byte[slots];
        this.sgeCounts = new int[slots];
        this.payloads = new int[slots];
        this.addresses = new long[slots * maxSge];
        this.lengths = new int[slots * maxSge];
        this.lkeys = new int[slots * maxSge];
        this.inlineStride = inlineStride(maxInline);
        this.requests = memory.allocate((long) slots * Wire.REQUEST_SIZE, 64);
        this.replies = memory.allocate((long) slots * Wire.REPLY_SIZE, 64);
        this.inline = memory.allocate((long) slots * inlineStride, 64);
    }

    private static int slots(int capacity) {
        return Integer.highestOneBit(Math.max(1, capacity * 2 - 1));
    }

    private static int inlineStride(int maxInline) {
        return maxInline + 7 & ~7;
    }

    /** Bytes of native memory of a send queue. */
    static long bytes(int capacity, int maxInline) {
        return (long) slots(capacity) * (Wire.REQUEST_SIZE + Wire.REPLY_SIZE + inlineStride(maxInline));
    }

    static void requireLength(int length) {
        if (length < 0 || length > Wire.MAX_MESSAGE) {
            throw new IllegalArgumentException("length " + length + " is not within 0.." + Wire.MAX_MESSAGE);
        }
    }

    /** Discards everything; the next work request goes out with {@code psn}. */
    void reset(int psn) {
        head = 0;
        acked = 0;
        sent = 0;
        posted = 0;
        prepared = 0;
        readsSent = 0;
        readsAcked = 0;
        answered = 0;
        firstPsn = psn;
    }

    /** Discards everything and takes nothing from now on: its memory is given back. */
    void close() {
        reset(0);
        capacity = 0;
    }

    private VerbsException full() {
        return capacity == 0
                ? new VerbsException("prepare on " + owner + ": it is closed")
                : new QueueFullException(owner, "max_send_wr", capacity);
    }

    int space() {
        return capacity - (int) (prepared - head);
    }

    boolean isIdle() {
        return head == posted;
    }

    void prepare(
            long wrId, int opcode, long address, int length, int lkey, long remoteAddress, int rkey, int sendFlags) {
        requireLength(length);
        if (space() == 0) {
            throw full();
        }
        int slot = slot(prepared);
        boolean inlined = (sendFlags & SendFlag.INLINE) != 0;
        if (inlined && (opcode == Wire.READ || length > maxInline)) {
            throw new VerbsException(
                    "prepare on " + owner + ": " + length + " bytes cannot be sent inline; max_inline_data is "
                            + maxInline + ", and only WRITE and SEND carry inline data",
                    EINVAL);
        }
        wrIds[slot] = wrId;
        opcodes[slot] = (byte) opcode;
        flags[slot] = (byte) sendFlags;
        sgeCounts[slot] = 0;
        payloads[slot] = 0;
        int wireFlags = (sendFlags & SendFlag.SOLICITED) != 0 ? Wire.FLAG_SOLICITED : 0;
        RequestHeader.encode(requests, requestOffset(slot), opcode, wireFlags, psn(prepared), remoteAddress, rkey, 0);
        prepared++;
        addSge(slot, address, length, lkey);
    }

    void append(long address, int length, int lkey) {
        requireLength(length);
        if (prepared == posted) {
            throw new IllegalStateException("nothing is prepared on " + owner);
        }
        int slot = slot(prepared - 1);
        if (sgeCounts[slot] == maxSge) {
            throw new IllegalStateException("work request has max_sge " + maxSge + " entries already");
        }
        requireLength(Math.toIntExact(Math.min((long) payloads[slot] + length, Integer.MAX_VALUE)));
        if (isInline(slot) && payloads[slot] + length > maxInline) {
            throw new VerbsException("append on " + owner + ": max_inline_data is " + maxInline, EINVAL);
        }
        addSge(slot, address, length, lkey);
    }

    private void addSge(int slot, long address, int length, int lkey) {
        if (isInline(slot)) {
            // SAFETY: the caller vouches for the bytes, as it does to ibv_post_send; they are copied before it returns.
            NativeMemory.copy(address, inlineAddress(slot) + payloads[slot], length);
        }
        int at = slot * maxSge + sgeCounts[slot]++;
        addresses[at] = address;
        lengths[at] = length;
        lkeys[at] = lkey;
        payloads[slot] += length;
        requests.set(Wire.INT, requestOffset(slot) + RequestHeader.LENGTH, payloads[slot]);
    }

    /** READs that are sent and not replied to. */
    long readsInFlight() {
        return readsSent - readsAcked;
    }

    /** The oldest unsent work request, in {@code slot}, is sent. */
    void countSent(int slot) {
        readsSent += opcodes[slot] == Wire.READ ? 1 : 0;
        sent++;
        if (isAnswered(slot)) {
            answered = sent;
        }
    }

    /** The oldest outstanding work request has its reply, or a later one has. */
    void countAcked() {
        readsAcked += opcodes[slot(acked)] == Wire.READ ? 1 : 0;
        acked++;
    }

    /** Whether a reply is expected to a work request that is sent. */
    boolean awaitsReply() {
        return acked < answered;
    }

    /**
     * Marks a work request that is about to be sent, so that the peer replies only if it refuses it. READs and signaled
     * requests stay as they are; the others complete with a later one.
     */
    void leaveUnanswered(int slot) {
        if (!isSignaled(slot) && opcodes[slot] != Wire.READ && isAnswered(slot)) {
            flags[slot] |= UNANSWERED;
            long at = requestOffset(slot) + RequestHeader.FLAGS;
            requests.set(JAVA_BYTE, at, (byte) (requests.get(JAVA_BYTE, at) | Wire.FLAG_UNANSWERED));
        }
    }

    boolean isAnswered(int slot) {
        return (flags[slot] & UNANSWERED) == 0;
    }

    /**
     * The first work request from {@code from} on that is replied to; {@code from} itself if none before {@code to} is,
     * since the next reply is then a refusal.
     */
    long nextReply(long from, long to) {
        for (long at = from; at < to; at++) {
            if (isAnswered(slot(at))) {
                return at;
            }
        }
        return from;
    }

    int slot(long position) {
        return (int) position & mask;
    }

    int psn(long position) {
        return (firstPsn + (int) position) & Wire.PSN_MASK;
    }

    long wrId(int slot) {
        return wrIds[slot];
    }

    int opcode(int slot) {
        return opcodes[slot];
    }

    boolean isSignaled(int slot) {
        return (flags[slot] & SendFlag.SIGNALED) != 0;
    }

    boolean isFenced(int slot) {
        return (flags[slot] & SendFlag.FENCE) != 0;
    }

    boolean isInline(int slot) {
        return (flags[slot] & SendFlag.INLINE) != 0;
    }

    /** Bytes that the work request moves. */
    int length(int slot) {
        return payloads[slot];
    }

    long sgeAddress(int slot, int sge) {
        return addresses[slot * maxSge + sge];
    }

    /** Bytes that follow the request's header on the wire. */
    int outgoing(int slot) {
        return opcodes[slot] == Wire.READ ? 0 : payloads[slot];
    }

    /** Bytes that follow a successful reply's header on the wire. */
    int incoming(int slot) {
        return opcodes[slot] == Wire.READ ? payloads[slot] : 0;
    }

    /** Whether every local byte is registered in {@code table} for what this work request does with it. */
    boolean permitted(int slot, RegionTable table) {
        if (isInline(slot)) {
            return true;
        }
        int bits = opcodes[slot] == Wire.READ ? AccessFlag.LOCAL_WRITE.bit() : 0;
        for (int i = slot * maxSge, end = i + sgeCounts[slot]; i < end; i++) {
            if (!table.permits(lkeys[i], addresses[i], lengths[i], bits)) {
                return false;
            }
        }
        return true;
    }

    /** Appends what goes on the wire for a work request, less the first {@code skip} bytes of it. */
    void appendRequest(Message out, int slot, long skip) {
        long rest = out.append(requests.address() + requestOffset(slot), Wire.REQUEST_SIZE, skip);
        if (isInline(slot)) {
            out.append(inlineAddress(slot), outgoing(slot), rest);
        } else if (opcodes[slot] != Wire.READ) {
            appendEntries(out, slot, rest);
        }
    }

    /** Appends where the reply to a work request goes, less the first {@code skip} bytes of it. */
    void appendReply(Message in, int slot, long skip) {
        long rest = in.append(replies.address() + replyOffset(slot), Wire.REPLY_SIZE, skip);
        if (opcodes[slot] == Wire.READ) {
            appendEntries(in, slot, rest);
        }
    }

    private void appendEntries(Message to, int slot, long skip) {
        long rest = skip;
        for (int i = slot * maxSge, end = i + sgeCounts[slot]; i < end; i++) {
            rest = to.append(addresses[i], lengths[i], rest);
        }
    }

    /**
     * Which outstanding work request before {@code to} a reply is to that was received for the one at {@code expected}:
     * that one, or one that is left unanswered and not behind a later reply.
     */
    long repliedTo(long expected, long to) {
        long at = acked + ((ReplyHeader.psn(replies, replyOffset(slot(expected))) - psn(acked)) & Wire.PSN_MASK);
        long next = nextReply(acked, to);
        long last = isAnswered(slot(next)) ? next : to - 1;
        return at <= last ? at : expected;
    }

    /**
     * What a reply means that was received for the work request at {@code expected}.
     *
     * @param at the work request that it is to
     */
    WcStatus checkReply(long expected, long at) {
        int slot = slot(at);
        WcStatus status =
                ReplyHeader.check(replies, replyOffset(slot(expected)), opcodes[slot], psn(at), incoming(slot));
        return status == WcStatus.SUCCESS && !isAnswered(slot) ? WcStatus.BAD_RESP_ERR : status;
    }

    /** Address of the slot's inline data. */
    private long inlineAddress(int slot) {
        return inline.address() + (long) slot * inlineStride;
    }

    private static long replyOffset(int slot) {
        return (long) slot * Wire.REPLY_SIZE;
    }

    private static long requestOffset(int slot) {
        return (long) slot * Wire.REQUEST_SIZE;
    }
}
