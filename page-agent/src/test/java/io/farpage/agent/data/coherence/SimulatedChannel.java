package io.farpage.agent.data.coherence;

import io.farpage.agent.data.shard.MessageChannel;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.Deque;

/** One side of a channel: what it sends waits in order until it is delivered to the other side. */
final class SimulatedChannel implements MessageChannel {
    private final String peer;
    private final long incarnation;
    private final int capacity;
    private final Deque<MemorySegment> sent = new ArrayDeque<>();
    private boolean open = true;
    private boolean claimed;
    private long session;
    /** Is called before and after each message that is sent. */
    Runnable onSend = () -> {};

    private final MemorySegment buffer = Arena.ofAuto().allocate(MAX_BYTES, 8);

    /** @param peer the node at the other side */
    SimulatedChannel(String peer, long incarnation, int capacity) {
        this.peer = peer;
        this.incarnation = incarnation;
        this.capacity = capacity;
    }

    @Override
    public String peer() {
        return peer;
    }

    @Override
    public long incarnation() {
        return incarnation;
    }

    @Override
    public boolean isOpen() {
        return open;
    }

    @Override
    public int credits() {
        return capacity - sent.size();
    }

    @Override
    public MemorySegment claim() {
        if (!open || credits() == 0 || claimed) {
            throw new AssertionError("claimed without a credit");
        }
        claimed = true;
        buffer.fill((byte) 0x55);
        return buffer;
    }

    @Override
    public void send(int length) {
        if (!claimed) {
            throw new AssertionError("sent without a claim");
        }
        claimed = false;
        if (CoherentMessage.kind(buffer) == MessageKind.ADMITTED) {
            session = CoherentMessage.session(buffer);
        }
        onSend.run();
        MemorySegment copy = Arena.ofAuto().allocate(length, 8);
        copy.copyFrom(buffer.asSlice(0, length));
        sent.add(copy);
        onSend.run();
    }

    /** Number of the session that this side, a directory, has begun last. */
    long session() {
        return session;
    }

    boolean isEmpty() {
        return sent.isEmpty();
    }

    /** What was sent, in order. */
    Iterable<MemorySegment> sent() {
        return sent;
    }

    /** The next message to the other side. */
    MemorySegment deliver() {
        return sent.remove();
    }

    void close() {
        open = false;
        sent.clear();
    }

    @Override
    public String toString() {
        return "to " + peer + ": " + sent.stream().map(CoherentMessage::kind).toList();
    }
}
