package io.farpage.agent.data.shard;

import io.farpage.pool.PagePool;
import io.farpage.pool.frames.FrameAllocator;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.QueuePair;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Staging memory in which a shard exchanges messages: {@link MessageChannel#HEADER_BYTES} for each queue pair, into
 * which its first message comes, and {@link LinkChannel#BYTES} for each channel, which are taken when it is made.
 *
 * <p>Hello receives are for the thread that creates queue pairs, the rest for the shard's.
 */
public final class MessageMemory {
    /** Version of the messages, as offers of queue pairs name it. */
    public static final int VERSION = MessageHeader.VERSION;

    /** Receives of a queue pair: those of its channel, and that of the HELLO. */
    private static final int RECEIVES = LinkChannel.RECEIVES + 1;

    private static final MessageMemory NONE = new MessageMemory(MemorySegment.NULL, Optional.empty(), 0);

    /** For a shard that exchanges none. */
    public static MessageMemory none() {
        return NONE;
    }

    private final MemorySegment hellos;
    private final FrameAllocator free;
    private final char[] generations;
    private final Optional<PagePool> pool;
    private final int maxPeers;
    private int taken;

    /**
     * @param hellos staging memory, {@link MessageChannel#HEADER_BYTES} for each queue pair that there may be at once
     * @param pool whose staging frames channels take
     * @param maxPeers channels that may be open at once
     */
    public MessageMemory(MemorySegment hellos, PagePool pool, int maxPeers) {
        this(hellos, Optional.of(pool), maxPeers);
    }

    private MessageMemory(MemorySegment hellos, Optional<PagePool> pool, int maxPeers) {
        this.hellos = hellos;
        this.pool = pool;
        this.maxPeers = maxPeers;
        int capacity = maxPeers == 0 ? 0 : (int) (hellos.byteSize() / MessageChannel.HEADER_BYTES);
        free = new FrameAllocator(capacity);
        generations = new char[capacity];
    }

    /** The options of a queue pair of this shard, if those of one without messages are {@code transfers}. */
    public QpOptions sizeFor(QpOptions transfers) {
        return isPresent() ? enlarged(transfers) : transfers;
    }

    /** What queue pairs need that carry messages beside transfers. They take WRITEs, which flush messages. */
    public static QpOptions enlarged(QpOptions queuePairs) {
        QpOptions.Sizes sizes = queuePairs.sizes();
        return queuePairs.withSizes(sizes.withQueues(sizes.maxSendWr() + LinkChannel.SENDS, RECEIVES));
    }

    /** Whether the shard exchanges messages at all. */
    public boolean isPresent() {
        return maxPeers > 0;
    }

    int maxPeers() {
        return maxPeers;
    }

    int hellos() {
        return generations.length;
    }

    /**
     * Posts the receive for the first message of a queue pair in INIT. {@link #release} follows once it is destroyed.
     *
     * @return empty if the shard exchanges no messages, or the queue pair has no room for them
     */
    public Optional<HelloReceive> post(QueuePair queuePair, Rail rail) {
        QpOptions.Sizes sizes = queuePair.options().sizes();
        if (!isPresent() || sizes.maxRecvWr() < RECEIVES || sizes.maxSendWr() <= LinkChannel.SENDS) {
            return Optional.empty();
        }
        int index = free.allocate();
        if (index == FrameAllocator.NONE) {
            return Optional.empty();
        }
        HelloReceive hello = new HelloReceive(index, ++generations[index]);
        try {
            queuePair.prepareRecv(
                    hello.wrId(), hello(index).address(), MessageChannel.HEADER_BYTES, rail.stagingLkey());
            queuePair.postRecv();
        } catch (RuntimeException e) {
            free.free(index);
            throw e;
        }
        return Optional.of(hello);
    }

    /** The queue pair of the receive is destroyed. */
    public void release(HelloReceive hello) {
        free.free(hello.index());
    }

    MemorySegment hello(int index) {
        return hellos.asSlice((long) index * MessageChannel.HEADER_BYTES, MessageChannel.HEADER_BYTES);
    }

    /** Takes the memory of a channel; null if the pool has too few staging frames in a row. */
    @Nullable
    MemorySegment take() {
        PagePool from = pool.orElseThrow();
        int first = from.stagingFrames().allocateRun(frames(from));
        if (first == FrameAllocator.NONE) {
            return null;
        }
        taken++;
        return from.staging().asSlice(from.offset(first), LinkChannel.BYTES);
    }

    /** Gives the memory of a channel back, whose queue pair is destroyed. */
    void give(MemorySegment memory) {
        PagePool to = pool.orElseThrow();
        long offset = memory.address() - to.staging().address();
        taken--;
        to.stagingFrames().freeRun((int) (offset / to.frameBytes()), frames(to));
    }

    /** Channels that have memory. */
    int taken() {
        return taken;
    }

    private static int frames(PagePool pool) {
        return Math.ceilDiv(LinkChannel.BYTES, pool.frameBytes());
    }
}
