package io.farpage.agent.data.shard;

import io.farpage.pool.header.PoolHeader;
import io.farpage.verbs.AccessFlag;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.QueuePair;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A node whose shard exchanges messages over the soft provider. A SEND that finds no receive fails its queue pair at
 * once, since {@code rnr_retry} is 0.
 */
final class MessageNode implements MessageListener, AutoCloseable {
    static final int TRANSFERS = 4;

    final Home node;
    final MessageMemory memory;
    final Shard shard;
    /** The rail of queue pairs that are installed from now on. */
    Rail rail;

    final List<String> events = new ArrayList<>();
    final List<ShardNotice> notices = new ArrayList<>();
    final Map<Long, HelloReceive> hellos = new HashMap<>();

    /** Receives each message; null counts them only. */
    @Nullable
    MessageListener messages;

    @Nullable
    MessageChannel channel;

    int received;

    MessageNode(String id, LongSupplier clock) {
        this(id, clock, 4);
    }

    /** @param peers channels that may be open at once */
    MessageNode(String id, LongSupplier clock, int peers) {
        QpOptions options = MessageMemory.enlarged(new QpOptions(
                new QpOptions.Sizes(TRANSFERS, 1, 1, 0, TRANSFERS),
                new QpOptions.Retries(14, 7, 0, 12),
                QpOptions.DEFAULT.path(),
                EnumSet.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE)));
        node = new Home(id, options, 1024);
        node.pool.stagingFrames().allocateRun(2);
        MemorySegment headers = node.pool.staging().asSlice(0, 8 * PoolHeader.BYTES);
        memory = new MessageMemory(
                node.pool.staging().asSlice(Home.PAGE, 8 * MessageChannel.HEADER_BYTES), node.pool, peers);
        shard = new Shard(node.rails.rails(), headers, memory, clock, () -> {});
        shard.listen(this);
        rail = node.rail();
    }

    /** Connects queue pairs of two nodes, and gives each to the link of its shard. */
    static void connect(MessageNode one, PeerLink ofOne, MessageNode other, PeerLink ofOther, long attempt) {
        QueuePair a = one.create(attempt);
        QueuePair b = other.create(attempt);
        a.modifyToRtr(b.endpoint());
        b.modifyToRtr(a.endpoint());
        a.modifyToRts();
        b.modifyToRts();
        one.install(ofOne, a, other, attempt);
        other.install(ofOther, b, one, attempt);
    }

    /** A queue pair in INIT, with a receive for the HELLO. */
    QueuePair create(long attempt) {
        QueuePair queuePair = node.queuePair();
        hellos.put(attempt, memory.post(queuePair, node.rail()).orElseThrow());
        return queuePair;
    }

    void install(PeerLink link, QueuePair queuePair, MessageNode peer, long attempt) {
        shard.submit(new ShardCommand.Install(
                link,
                new Connection(
                        queuePair,
                        rail,
                        Home.INCARNATION,
                        peer.node.memory(),
                        attempt,
                        Optional.of(Objects.requireNonNull(hellos.get(attempt))))));
    }

    /** Has the shard poll another completion queue in place of its device's. */
    FaultyQueue failingQueue() {
        FaultyQueue queue = new FaultyQueue(node.rail().completionQueue());
        rail = new Rail("faulty", queue, node.rail().channel(), node.rail().stagingLkey(), 1);
        shard.submit(new ShardCommand.RemoveRail(node.rail(), new CompletableFuture<>()));
        shard.submit(new ShardCommand.AddRail(rail));
        return queue;
    }

    /** A duty cycle, and destroys what it has released. */
    void step() {
        shard.doWork();
        for (ShardNotice notice = shard.pollNotice(); notice != null; notice = shard.pollNotice()) {
            notices.add(notice);
            if (notice instanceof ShardNotice.Released released) {
                released.queuePair().close();
                shard.submit(new ShardCommand.Destroyed(released.link(), released.attempt()));
                memory.release(Objects.requireNonNull(hellos.remove(released.attempt())));
            }
        }
    }

    boolean isOpen() {
        return channel != null && channel.isOpen();
    }

    MessageChannel channel() {
        return Objects.requireNonNull(channel);
    }

    /** Sends a message of one header with a number in it. */
    void send(long value) {
        channel().claim().set(ValueLayout.JAVA_LONG, MessageChannel.PLANE_BYTES, value);
        channel().send(MessageChannel.HEADER_BYTES);
    }

    /** Why queue pairs were released. */
    List<String> releases() {
        return notices.stream()
                .filter(ShardNotice.Released.class::isInstance)
                .map(notice -> ((ShardNotice.Released) notice).reason())
                .toList();
    }

    @Override
    public void onOpened(MessageChannel opened) {
        events.add("opened " + opened.peer());
        channel = opened;
        if (messages != null) {
            messages.onOpened(opened);
        }
    }

    @Override
    public void onMessage(MessageChannel from, MemorySegment message) {
        received++;
        if (messages == null) {
            events.add("message " + message.get(ValueLayout.JAVA_LONG, MessageChannel.PLANE_BYTES));
        } else {
            messages.onMessage(from, message);
        }
    }

    @Override
    public void onClosed(MessageChannel closed) {
        events.add("closed " + closed.peer());
        if (messages != null) {
            messages.onClosed(closed);
        }
    }

    @Override
    public void close() {
        shard.close();
        node.close();
    }
}
