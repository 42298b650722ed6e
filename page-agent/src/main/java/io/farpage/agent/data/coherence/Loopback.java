package io.farpage.agent.data.coherence;

import io.farpage.agent.data.shard.MessageChannel;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A channel of a node to itself, for a member on the node that is the home: the messages of one direction, in order, in
 * a ring. The shard's thread only.
 */
final class Loopback implements MessageChannel {
    private static final int SLOTS = 32;

    private final String node;
    private final long incarnation;
    private final MemorySegment buffers = Arena.ofAuto().allocate((long) SLOTS * MAX_BYTES, Long.BYTES);
    private final int[] lengths = new int[SLOTS];
    private @Nullable Loopback other;
    private int head;
    private int count;

    private Loopback(String node, long incarnation) {
        this.node = node;
        this.incarnation = incarnation;
    }

    /** Two sides: what one sends is for the listener of the other. */
    static Loopback pair(String node, long incarnation) {
        Loopback one = new Loopback(node, incarnation);
        Loopback other = new Loopback(node, incarnation);
        one.other = other;
        other.other = one;
        return one;
    }

    /** The other side. */
    Loopback other() {
        return Objects.requireNonNull(other);
    }

    @Override
    public String peer() {
        return node;
    }

    @Override
    public long incarnation() {
        return incarnation;
    }

    @Override
    public boolean isOpen() {
        return true;
    }

    @Override
    public int credits() {
        return SLOTS - count;
    }

    @Override
    public MemorySegment claim() {
        assert count < SLOTS;
        return slot(head + count, MAX_BYTES);
    }

    private MemorySegment slot(int index, int length) {
        return buffers.asSlice((long) (index % SLOTS) * MAX_BYTES, length);
    }

    @Override
    public void send(int length) {
        lengths[(head + count) % SLOTS] = length;
        count++;
    }

    /** Whether something was sent that is not delivered. */
    boolean hasMessages() {
        return count > 0;
    }

    /** The oldest message that was sent and not yet {@link #delivered}. */
    MemorySegment first() {
        return slot(head, lengths[head]);
    }

    void delivered() {
        head = (head + 1) % SLOTS;
        count--;
    }
}
