package io.farpage.agent.data.shard;

import io.farpage.verbs.WcStatus;
import io.farpage.verbs.WorkCompletion;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.Objects;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The message channels of a shard, from the HELLO of a queue pair to its destruction.
 *
 * <p>Each queue pair that carries messages has a receive for one HELLO from INIT on. A side that wants messages posts
 * the receives of its channel and sends its HELLO; the other side does the same when that comes. So each side knows
 * from the other's HELLO that receives are posted, and no SEND finds none. The shard's thread only.
 */
final class Messages {
    private static final Logger log = LoggerFactory.getLogger(Messages.class);

    /** Many times what a device takes to give up retries. */
    static final long UNACKNOWLEDGED_NANOS = TimeUnit.SECONDS.toNanos(10);

    /** What ends a link over which messages can no longer be exchanged. */
    interface Failures {
        /**
         * Fails a link.
         *
         * @param refused whether a message of the peer was wrong, so that those of the next queue pair will be
         */
        void fail(PeerLink link, String reason, boolean refused);
    }

    private record Event(LinkChannel channel, boolean opened) {}

    private final MessageMemory memory;
    private final LongSupplier clock;
    private final Consumer<PeerLink> postLater;
    private final Failures failures;
    private @Nullable MessageListener listener;

    /** By the index of the {@link HelloReceive}; null where the shard has no such queue pair. */
    private final @Nullable QueuePairMessages[] queuePairs;
    /** HELLOs that have come before their queue pair was installed: what their completion said. */
    private final @Nullable WcStatus[] earlyStatus;

    private final int[] earlyLength;
    private final char[] earlyGeneration;

    /** By number. One that is closed holds its memory until the queue pair is destroyed. */
    private final @Nullable LinkChannel[] channels;

    private final char[] generations;
    private int made;
    private int unclosed;
    private int outstanding;
    /** A channel has closed, or its memory is free, so that another one may find room. */
    private boolean roomMade;

    private final Queue<Event> events = new ArrayDeque<>();

    /**
     * @param clock see {@link SilenceClock#read}
     * @param postLater schedules a link's doorbell for the end of this half of the duty cycle
     */
    Messages(MessageMemory memory, LongSupplier clock, Consumer<PeerLink> postLater, Failures failures) {
        this.memory = memory;
        this.clock = clock;
        this.postLater = postLater;
        this.failures = failures;
        int hellos = memory.hellos();
        queuePairs = new @Nullable QueuePairMessages[hellos];
        earlyStatus = new @Nullable WcStatus[hellos];
        earlyLength = new int[hellos];
        earlyGeneration = new char[hellos];
        // A peer has two while its queue pair is exchanged or renewed.
        channels = new @Nullable LinkChannel[2 * memory.maxPeers()];
        generations = new char[channels.length];
    }

    MessageMemory memory() {
        return memory;
    }

    void listen(MessageListener to) {
        listener = to;
    }

    /** Whether an arriving message must end a sleep of the shard's thread at once. */
    boolean hasChannels() {
        return made > 0;
    }

    /** Whether a SEND has not completed. */
    boolean hasOutstanding() {
        return outstanding > 0;
    }

    // ---- links

    /** A link has a queue pair, whose HELLO may have come already. */
    void installed(PeerLink link) {
        Optional<HelloReceive> posted = link.connection().hello();
        if (posted.isEmpty()) {
            return;
        }
        HelloReceive hello = posted.get();
        int index = hello.index();
        QueuePairMessages fresh = new QueuePairMessages(hello, link);
        queuePairs[index] = fresh;
        link.messages(fresh);
        WcStatus early = earlyStatus[index];
        earlyStatus[index] = null;
        if (early != null && earlyGeneration[index] == hello.generation()) {
            helloArrived(fresh, early, earlyLength[index]);
        }
    }

    /** Messages are wanted on a link, or no longer, which concerns later queue pairs. */
    void want(PeerLink link, boolean wanted) {
        link.wantMessages(wanted);
        tryOpen(link);
    }

    /** A link is up, or again. */
    void up(PeerLink link) {
        tryOpen(link);
        QueuePairMessages of = link.messages();
        if (of != null && of.channel() != null) {
            postLater.accept(link); // credits that were not returned during a switch
        }
    }

    /** A link fails: its queue pair is in ERR, or will be. */
    void failed(PeerLink link) {
        QueuePairMessages of = link.messages();
        if (of != null && of.channel() != null) {
            close(of.channel());
        }
    }

    /** A link and a trial have exchanged their queue pairs. */
    void exchanged(PeerLink link, PeerLink trial) {
        belongsTo(link);
        belongsTo(trial);
        failed(trial);
        up(link);
    }

    private static void belongsTo(PeerLink link) {
        QueuePairMessages of = link.messages();
        if (of != null) {
            of.link(link);
        }
    }

    /** The queue pair of a link is destroyed, so its buffers may be used otherwise. */
    void destroyed(PeerLink link) {
        QueuePairMessages of = link.messages();
        if (of == null) {
            return;
        }
        int index = of.hello().index();
        if (queuePairs[index] == of) {
            queuePairs[index] = null;
        }
        LinkChannel channel = of.channel();
        if (channel != null) {
            close(channel);
            outstanding -= channel.outstanding();
            channels[channel.number()] = null;
            made--;
            memory.give(channel.memory());
            roomMade = true;
        }
    }

    private void openWaiting() {
        for (QueuePairMessages of : queuePairs) {
            if (of != null && of.waitsForRoom()) {
                tryOpen(of.link());
            }
        }
    }

    private void tryOpen(PeerLink link) {
        QueuePairMessages of = link.messages();
        if (of == null
                || of.channel() != null
                || listener == null
                || link.isTrial()
                || !link.isUp()
                || !(link.wantsMessages() || of.isPeerReady())) {
            return;
        }
        int number = freeNumber();
        MemorySegment buffers = number < 0 ? null : memory.take();
        if (buffers == null) {
            if (of.waitForRoom()) {
                log.error(
                        "no messages are exchanged with {} yet: {}",
                        link.peer(),
                        number < 0
                                ? "coherence.peers %d peers exchange messages with this node; raise it"
                                        .formatted(memory.maxPeers())
                                : "pool.staging has no %d bytes in a row that are free; raise it"
                                        .formatted(LinkChannel.BYTES));
            }
            return;
        }
        LinkChannel channel = new LinkChannel(link, number, ++generations[number], buffers, clock, this::prepared);
        channels[number] = channel;
        of.channel(channel);
        made++;
        unclosed++;
        try {
            channel.begin();
        } catch (RuntimeException e) {
            failures.fail(link, e.toString(), false);
            return;
        }
        openIfReady(of);
    }

    private void prepared(PeerLink link) {
        outstanding++;
        postLater.accept(link);
    }

    /** Negative if as many peers exchange messages as may. */
    private int freeNumber() {
        if (unclosed >= memory.maxPeers()) {
            return -1;
        }
        for (int number = 0; number < channels.length; number++) {
            if (channels[number] == null) {
                return number;
            }
        }
        return -1;
    }

    private void openIfReady(QueuePairMessages of) {
        LinkChannel channel = of.channel();
        if (channel != null && !channel.isClosed() && of.isPeerReady()) {
            channel.open();
            events.add(new Event(channel, true));
        }
    }

    private void close(LinkChannel channel) {
        if (channel.isClosed()) {
            return;
        }
        unclosed--;
        if (channel.close()) {
            events.add(new Event(channel, false));
        }
        roomMade = true;
    }

    // ---- the duty cycle

    /** A link's chain will be posted. Receives go first. */
    void beforePost(PeerLink link) {
        QueuePairMessages of = link.messages();
        if (of != null && of.channel() != null) {
            of.channel().beforePost();
        }
    }

    /**
     * Makes channels that there was no room for, and notifies the listener of those that have opened and closed.
     * Returns how many of these there were.
     */
    int deliver() {
        if (roomMade) {
            roomMade = false;
            openWaiting();
        }
        return notifyListener();
    }

    private int notifyListener() {
        int count = 0;
        for (Event event = events.poll(); event != null; event = events.poll()) {
            LinkChannel channel = event.channel();
            boolean opened = event.opened();
            notify(channel, to -> {
                if (opened) {
                    to.onOpened(channel);
                } else {
                    to.onClosed(channel);
                }
            });
            count++;
        }
        return count;
    }

    private void notify(LinkChannel channel, Consumer<MessageListener> call) {
        try {
            call.accept(Objects.requireNonNull(listener));
        } catch (OutOfMemoryError e) {
            throw e;
        } catch (RuntimeException | Error e) {
            threw(channel, e);
        }
    }

    private void threw(LinkChannel channel, Throwable e) {
        log.error("{}: the listener threw", channel, e);
        if (channel.isOpen()) {
            failures.fail(channel.link(), "the listener of messages threw " + e, false);
        }
    }

    /** Has messages complete, and fails links whose peer leaves them unacknowledged. Returns the amount of work. */
    int check(long now) {
        int work = 0;
        for (int number = 0; outstanding > 0 && number < channels.length; number++) {
            LinkChannel channel = channels[number];
            if (channel == null) {
                continue;
            }
            work += channel.flush(now);
            if (channel.outstanding() > 0
                    && channel.link().isUp()
                    && channel.link().isQuietFor(UNACKNOWLEDGED_NANOS, now)) {
                failures.fail(
                        channel.link(),
                        "the peer has not acknowledged a message for %d s"
                                .formatted(TimeUnit.NANOSECONDS.toSeconds(UNACKNOWLEDGED_NANOS)),
                        false);
                work++;
            }
        }
        return work;
    }

    // ---- completions

    /** A work request of messages has completed. */
    void completed(WorkCompletion wc) {
        long wrId = wc.wrId();
        int kind = WrId.kind(wrId);
        int number = WrId.number(wrId);
        char generation = WrId.generation(wrId);
        if (kind == WrId.HELLO_RECEIVE) {
            QueuePairMessages of = queuePairs[number];
            if (of != null && of.hello().generation() == generation) {
                helloArrived(of, wc.status(), wc.byteLength());
            } else {
                earlyStatus[number] = wc.status();
                earlyLength[number] = wc.byteLength();
                earlyGeneration[number] = generation;
            }
            return;
        }
        LinkChannel channel = channels[number];
        if (channel == null || channel.generation() != generation) {
            return; // of a queue pair that is destroyed
        }
        if (kind == WrId.RECEIVE) {
            received(channel, WrId.buffer(wrId), wc);
        } else {
            sent(channel, kind, wc);
        }
    }

    private void sent(LinkChannel channel, int kind, WorkCompletion wc) {
        PeerLink link = channel.link();
        int buffer = WrId.buffer(wc.wrId());
        int unsignaled = channel.completed(kind, buffer);
        int signaled = kind != WrId.SEND || LinkChannel.isSignaled(buffer) ? 1 : 0;
        outstanding -= unsignaled + signaled;
        link.messagesCompleted(unsignaled, signaled, wc.isSuccess(), clock.getAsLong());
        if (!wc.isSuccess()) {
            failures.fail(link, wc.toString(), Fetcher.isRefusal(wc.status()));
        } else if (kind == WrId.CREDIT) {
            postLater.accept(link); // the next one may have waited for its buffer
        }
    }

    private void helloArrived(QueuePairMessages of, WcStatus status, int length) {
        PeerLink link = of.link();
        if (status != WcStatus.SUCCESS) {
            receiveFailed(link, status);
            return;
        }
        Optional<String> fault =
                MessageHeader.faultOfHello(memory.hello(of.hello().index()), length);
        if (fault.isPresent()) {
            failures.fail(link, "the HELLO of %s %s".formatted(link.peer(), fault.get()), true);
            return;
        }
        of.peerReady();
        if (of.channel() == null) {
            tryOpen(link);
        } else {
            openIfReady(of);
        }
    }

    private void received(LinkChannel channel, int buffer, WorkCompletion wc) {
        PeerLink link = channel.link();
        if (!wc.isSuccess()) {
            receiveFailed(link, wc.status());
            return;
        }
        if (channel.isClosed()) {
            return;
        }
        Optional<String> fault = channel.accept(buffer, wc.byteLength());
        if (fault.isPresent()) {
            failures.fail(link, "a message of %s %s".formatted(link.peer(), fault.get()), true);
            return;
        }
        boolean isMessage = channel.isMessage(buffer);
        if (isMessage) {
            notifyListener();
            receive(channel, channel.message(buffer, wc.byteLength()));
        }
        if (!channel.isClosed()) {
            channel.reuse(buffer, isMessage);
            postLater.accept(link);
        }
    }

    private void receive(LinkChannel channel, MemorySegment message) {
        if (!channel.isOpen()) {
            return;
        }
        try {
            Objects.requireNonNull(listener).onMessage(channel, message);
        } catch (OutOfMemoryError e) {
            throw e;
        } catch (RuntimeException | Error e) {
            threw(channel, e);
        }
    }

    /**
     * A receive has failed. If it was flushed, another work request has failed before, whose completion says why,
     * unless none is outstanding.
     */
    private void receiveFailed(PeerLink link, WcStatus status) {
        if (status != WcStatus.WR_FLUSH_ERR) {
            failures.fail(link, "the receive of a message failed: " + status, Fetcher.isRefusal(status));
        } else if (link.isUp() && link.isQuiet()) {
            failures.fail(link, "the queue pair has failed: the receive of a message was flushed", false);
        }
    }
}
