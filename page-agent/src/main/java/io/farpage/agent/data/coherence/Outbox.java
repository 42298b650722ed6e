package io.farpage.agent.data.coherence;

import io.farpage.agent.data.shard.MessageChannel;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Objects;

/**
 * The messages that one peer will get, in order, when the channel has credits. A message is written when it is sent:
 * what it carries does not change before the peer has answered. The shard's thread only.
 */
final class Outbox {
    /** Writes a message. */
    interface Writer {
        /** Writes it. Returns its length. */
        int write(MemorySegment to, MessageKind kind, int flags, long page);
    }

    private static final int FLAGS_SHIFT = 8;
    private static final int PAGE_SHIFT = 16;

    private final Writer writer;
    private long[] ring = new long[64];
    private int head;
    private int count;

    Outbox(Writer writer) {
        this.writer = writer;
    }

    boolean isEmpty() {
        return count == 0;
    }

    /** Whether a message of this kind is sent next. */
    boolean beginsWith(MessageKind kind) {
        return count > 0 && (byte) ring[head] == kind.code();
    }

    void add(MessageKind kind, long page) {
        add(kind, 0, page);
    }

    void add(MessageKind kind, int flags, long page) {
        if (count == ring.length) {
            grow();
        }
        ring[(head + count) & (ring.length - 1)] = (page << PAGE_SHIFT) | ((long) flags << FLAGS_SHIFT) | kind.code();
        count++;
    }

    private void grow() {
        long[] larger = Arrays.copyOf(ring, 2 * ring.length);
        for (int i = 0; i < count; i++) {
            larger[i] = ring[(head + i) & (ring.length - 1)];
        }
        ring = larger;
        head = 0;
    }

    void clear() {
        count = 0;
        head = 0;
    }

    /** Sends as many messages as the channel has credits for. Returns how many. */
    int send(MessageChannel channel) {
        int sent = 0;
        while (count > 0 && channel.isOpen() && channel.credits() > 0) {
            long entry = ring[head];
            head = (head + 1) & (ring.length - 1);
            count--;
            MessageKind kind = Objects.requireNonNull(MessageKind.of((byte) entry));
            MemorySegment message = channel.claim();
            channel.send(writer.write(message, kind, (int) (entry >>> FLAGS_SHIFT) & 0xFF, entry >>> PAGE_SHIFT));
            sent++;
        }
        return sent;
    }
}
