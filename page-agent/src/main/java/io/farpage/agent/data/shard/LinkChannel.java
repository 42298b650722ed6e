package io.farpage.agent.data.shard;

import io.farpage.verbs.VerbsException;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.stream.IntStream;

/**
 * The channel over one queue pair: its buffers, and the credits of both directions.
 *
 * <p>The peer's queue pair takes messages in the order in which this one posts receives, so all receives are as long as
 * the longest message. {@link #CREDIT_RECEIVES} of them are beyond the credits given: a peer returns credits by a
 * message of its own only when half of them are unreturned, and sends that without a credit. Two such messages may be
 * under way at once, and no third, since it would need more messages of this side than it has credits for without the
 * first.
 */
final class LinkChannel implements MessageChannel {
    /** Messages that each side may send ahead of the other. */
    static final int CREDITS = 32;

    /** A message of its own returns credits when this number is unreturned. */
    static final int RETURNED_AT = CREDITS / 2;

    static final int CREDIT_RECEIVES = 2;

    /** Receives that are posted. */
    static final int RECEIVES = CREDITS + CREDIT_RECEIVES;

    /** Work requests that may be outstanding: messages, returns of credits, the HELLO, and a flush. */
    static final int SENDS = CREDITS + CREDIT_RECEIVES + 2;

    /** The last message of each group of this size is signaled. Its completion covers the whole group. */
    static final int SIGNALED_EVERY = CREDITS / 2;

    /** How long messages that are not signaled may be the last ones before a flush. */
    static final long FLUSHED_AFTER_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

    private static final int SENDS_AT = RECEIVES * MAX_BYTES;
    private static final int CREDITS_AT = SENDS_AT + CREDITS * MAX_BYTES;
    private static final int HELLO_AT = CREDITS_AT + CREDIT_RECEIVES * HEADER_BYTES;

    /** Memory that a channel needs. */
    static final int BYTES = HELLO_AT + HEADER_BYTES;

    private final Connection connection;
    private final int number;
    private final char generation;
    private final MemorySegment memory;
    private final LongSupplier clock;
    private final Consumer<PeerLink> onPrepared;
    private final MemorySegment[] receives;
    /** The headers of {@link #receives}: most messages are that short or as long as the buffer. */
    private final MemorySegment[] headers;

    private final MemorySegment[] sends;
    private final MemorySegment[] returns;

    /** The link whose queue pair it is. */
    private PeerLink link;

    private boolean open;
    private boolean closed;
    /** Messages that the peer takes. */
    private int credits;

    private int sent;
    private int completed;
    /** Messages up to the newest one that is signaled or flushed. */
    private int covered;

    /** When the oldest message behind {@link #covered} was sent. */
    private long uncoveredSince;

    private boolean flushOutstanding;
    /** Messages that are complete when the flush is. */
    private int flushed;

    private int received;
    /** Messages that the peer may send without another credit. */
    private int given = CREDITS;
    /** Receives that are posted again and not given to the peer. */
    private int unreturned;

    private int returnsSent;
    private int returnsCompleted;
    private boolean helloOutstanding;
    private boolean receivesPrepared;

    /**
     * @param number of the channel on the shard
     * @param generation tells completions of it from those of earlier channels with that number
     * @param clock see {@link SilenceClock#read}
     * @param onPrepared called when a SEND was added to the link's chain
     */
    LinkChannel(
            PeerLink link,
            int number,
            char generation,
            MemorySegment memory,
            LongSupplier clock,
            Consumer<PeerLink> onPrepared) {
        this.link = link;
        this.connection = link.connection();
        this.number = number;
        this.generation = generation;
        this.memory = memory;
        this.clock = clock;
        this.onPrepared = onPrepared;
        receives = slices(0, RECEIVES, MAX_BYTES);
        sends = slices(SENDS_AT, CREDITS, MAX_BYTES);
        returns = slices(CREDITS_AT, CREDIT_RECEIVES, HEADER_BYTES);
        headers = IntStream.range(0, RECEIVES)
                .mapToObj(buffer -> receives[buffer].asSlice(0, HEADER_BYTES))
                .toArray(MemorySegment[]::new);
    }

    private MemorySegment[] slices(int at, int count, int bytes) {
        return IntStream.range(0, count)
                .mapToObj(index -> memory.asSlice(at + (long) index * bytes, bytes))
                .toArray(MemorySegment[]::new);
    }

    MemorySegment memory() {
        return memory;
    }

    int number() {
        return number;
    }

    char generation() {
        return generation;
    }

    PeerLink link() {
        return link;
    }

    /** The queue pair has become another link's. */
    void link(PeerLink other) {
        link = other;
    }

    @Override
    public String peer() {
        return link.peer();
    }

    @Override
    public long incarnation() {
        return connection.incarnation();
    }

    @Override
    public boolean isOpen() {
        return open;
    }

    boolean isClosed() {
        return closed;
    }

    @Override
    public int credits() {
        return open && link.isUp() ? Math.min(credits, CREDITS - (sent - completed)) : 0;
    }

    @Override
    public MemorySegment claim() {
        assert credits() > 0 : this + " has no credit";
        return sends[buffer(sent)];
    }

    @Override
    public void send(int length) {
        assert length >= HEADER_BYTES && length <= MAX_BYTES : length;
        if (credits() == 0) {
            throw new IllegalStateException(this + " has no credit; look at credits() before claim()");
        }
        int buffer = buffer(sent);
        MemorySegment message = sends[buffer];
        MessageHeader.write(message, MessageHeader.MESSAGE, unreturned, sent);
        long now = clock.getAsLong();
        boolean signaled = isSignaled(sent);
        if (sent == covered) {
            uncoveredSince = now;
        }
        prepare(WrId.SEND, buffer, message, length, signaled, now);
        given += unreturned;
        unreturned = 0;
        credits--;
        sent++;
        if (signaled) {
            covered = sent;
        }
    }

    /** The buffer of a message by its number, which wraps around. */
    static int buffer(int position) {
        return position & (CREDITS - 1);
    }

    /** Whether a message is signaled, by its number or its buffer. */
    static boolean isSignaled(int position) {
        return (position & (SIGNALED_EVERY - 1)) == SIGNALED_EVERY - 1;
    }

    private void prepare(int kind, int buffer, MemorySegment message, int length, boolean signaled, long now) {
        link.prepareMessage(WrId.message(kind, generation, number, buffer), message.address(), length, signaled, now);
        onPrepared.accept(link);
    }

    /** Has the newest messages complete, if nothing that was sent after them does so. Returns the amount of work. */
    int flush(long now) {
        if (closed || flushOutstanding || sent == covered || now - uncoveredSince < FLUSHED_AFTER_NANOS) {
            return 0;
        }
        link.prepareFlush(WrId.message(WrId.FLUSH, generation, number, 0), memory.address(), now);
        onPrepared.accept(link);
        flushOutstanding = true;
        flushed = sent;
        covered = sent;
        return 1;
    }

    /** Posts all receives, and prepares the HELLO that says so. */
    void begin() {
        for (int buffer = 0; buffer < RECEIVES; buffer++) {
            prepareReceive(buffer);
        }
        postReceives();
        MemorySegment hello = memory.asSlice(HELLO_AT, HEADER_BYTES);
        MessageHeader.writeHello(hello, CREDITS);
        prepare(WrId.HELLO, 0, hello, HEADER_BYTES, true, clock.getAsLong());
        helloOutstanding = true;
    }

    private void prepareReceive(int buffer) {
        connection
                .queuePair()
                .prepareRecv(
                        WrId.message(WrId.RECEIVE, generation, number, buffer),
                        receives[buffer].address(),
                        MAX_BYTES,
                        connection.rail().stagingLkey());
        receivesPrepared = true;
    }

    private void postReceives() {
        if (receivesPrepared) {
            receivesPrepared = false;
            connection.queuePair().postRecv();
        }
    }

    /** The peer has posted its receives. */
    void open() {
        assert !closed && !open : this;
        open = true;
        credits = CREDITS;
    }

    /** Whether the listener was, or will be, notified that it is open. */
    boolean close() {
        boolean was = open;
        open = false;
        closed = true;
        return was;
    }

    /**
     * Takes the part of the plane out of what has arrived.
     *
     * @return what is wrong with it
     */
    Optional<String> accept(int buffer, int length) {
        MemorySegment message = receives[buffer];
        if (length < HEADER_BYTES || length > MAX_BYTES) {
            return Optional.of("has %d bytes, not %d to %d".formatted(length, HEADER_BYTES, MAX_BYTES));
        }
        if (MessageHeader.version(message) != MessageHeader.VERSION) {
            return Optional.of(
                    "has version %d, not %d".formatted(MessageHeader.version(message), MessageHeader.VERSION));
        }
        if (!open) {
            return Optional.of("has come before the HELLO");
        }
        int kind = MessageHeader.kind(message);
        int returned = MessageHeader.credits(message);
        int outstanding = CREDITS - credits;
        if (returned > outstanding) {
            return Optional.of("returns %d credits where %d are taken".formatted(returned, outstanding));
        }
        return switch (kind) {
            case MessageHeader.MESSAGE -> acceptMessage(MessageHeader.number(message), returned);
            case MessageHeader.CREDIT -> acceptCredits(length, returned);
            default -> Optional.of("is of kind " + kind);
        };
    }

    private Optional<String> acceptMessage(int itsNumber, int returned) {
        if (itsNumber != received) {
            return Optional.of("is number %d where number %d follows"
                    .formatted(Integer.toUnsignedLong(itsNumber), Integer.toUnsignedLong(received)));
        }
        if (given == 0) {
            return Optional.of("was sent without a credit");
        }
        received++;
        given--;
        credits += returned;
        return Optional.empty();
    }

    private Optional<String> acceptCredits(int length, int returned) {
        if (length != HEADER_BYTES || returned < RETURNED_AT) {
            return Optional.of("returns %d credits with %d bytes, not %d or more with %d"
                    .formatted(returned, length, RETURNED_AT, HEADER_BYTES));
        }
        credits += returned;
        return Optional.empty();
    }

    boolean isMessage(int buffer) {
        return MessageHeader.kind(receives[buffer]) == MessageHeader.MESSAGE;
    }

    /** What has arrived. Another length than those of most messages costs an object. */
    MemorySegment message(int buffer, int length) {
        return switch (length) {
            case HEADER_BYTES -> headers[buffer];
            case MAX_BYTES -> receives[buffer];
            default -> receives[buffer].asSlice(0, length);
        };
    }

    /** The buffer may be received into again, from the next {@link #beforePost} on. */
    void reuse(int buffer, boolean wasMessage) {
        prepareReceive(buffer);
        if (wasMessage) {
            unreturned++;
        }
    }

    /**
     * Posts receives, and returns credits if half of them are unreturned. What this half of the duty cycle sends leaves
     * only afterwards, so the peer never has a credit whose receive is not posted.
     *
     * @throws VerbsException if the queue pair refuses
     */
    void beforePost() {
        if (closed) {
            return;
        }
        postReceives();
        if (unreturned >= RETURNED_AT && open && link.isUp() && returnsSent - returnsCompleted < CREDIT_RECEIVES) {
            int buffer = returnsSent & (CREDIT_RECEIVES - 1);
            MessageHeader.write(returns[buffer], MessageHeader.CREDIT, unreturned, 0);
            prepare(WrId.CREDIT, buffer, returns[buffer], HEADER_BYTES, true, clock.getAsLong());
            returnsSent++;
            given += unreturned;
            unreturned = 0;
        }
    }

    /**
     * A work request has completed, and with it the messages before it. Those that are not signaled have completions of
     * their own only when the queue pair fails.
     *
     * @return how many messages that are not signaled have completed
     */
    int completed(int kind, int buffer) {
        return switch (kind) {
            case WrId.SEND -> {
                int count = buffer(buffer - completed) + 1;
                completed += count;
                yield isSignaled(buffer) ? count - 1 : count;
            }
            case WrId.FLUSH -> {
                int count = Math.max(0, flushed - completed);
                flushOutstanding = false;
                completed += count;
                yield count;
            }
            case WrId.CREDIT -> {
                returnsCompleted++;
                yield 0;
            }
            case WrId.HELLO -> {
                helloOutstanding = false;
                yield 0;
            }
            default -> throw new AssertionError(kind);
        };
    }

    /** Work requests that have not completed. */
    int outstanding() {
        return sent
                - completed
                + returnsSent
                - returnsCompleted
                + (helloOutstanding ? 1 : 0)
                + (flushOutstanding ? 1 : 0);
    }

    @Override
    public String toString() {
        return "message channel %d to %s%s".formatted(number, link.peer(), closed ? " (closed)" : "");
    }
}
