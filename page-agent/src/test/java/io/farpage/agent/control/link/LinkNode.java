package io.farpage.agent.control.link;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.control.LinkKeys;
import io.farpage.agent.control.device.OpenDevice;
import io.farpage.agent.control.device.TransportMode;
import io.farpage.agent.control.device.Transports;
import io.farpage.agent.data.shard.DeviceGrants;
import io.farpage.agent.data.shard.Fetcher;
import io.farpage.agent.data.shard.GrantedRanges;
import io.farpage.agent.data.shard.IdleStrategy;
import io.farpage.agent.data.shard.MessageChannel;
import io.farpage.agent.data.shard.MessageListener;
import io.farpage.agent.data.shard.MessageMemory;
import io.farpage.agent.data.shard.PeerGrants;
import io.farpage.agent.data.shard.Priority;
import io.farpage.agent.data.shard.Shard;
import io.farpage.agent.data.shard.ShardCommand;
import io.farpage.agent.data.shard.ShardLoop;
import io.farpage.agent.data.shard.ShardNotice;
import io.farpage.coordinator.model.DeviceInfo;
import io.farpage.coordinator.model.Endpoint;
import io.farpage.coordinator.model.EndpointRequest;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Node;
import io.farpage.coordinator.model.NodeStatus;
import io.farpage.coordinator.model.PoolInfo;
import io.farpage.coordinator.model.TransportKind;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.linux.ThreadScheduling;
import io.farpage.pool.HugepagePolicy;
import io.farpage.pool.PagePool;
import io.farpage.pool.PoolConfig;
import io.farpage.pool.PoolException;
import io.farpage.pool.header.PoolHeader;
import io.farpage.pool.hugepages.HugepageSize;
import io.farpage.verbs.AccessFlag;
import io.farpage.verbs.MemoryRegion;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.soft.SoftOptions;
import io.farpage.verbs.soft.SoftProvider;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * One side of a link: its session, pool and devices are real, and nothing in it moves unless {@link #step} is called.
 */
final class LinkNode implements AutoCloseable {
    private static final int POOL_BYTES = 2 << 20;
    private static final int HEADERS = 4;
    private static final int HELLOS_AT = 4096;

    /** The channels that have opened, and what has arrived. */
    final List<MessageChannel> opened = new ArrayList<>();

    int messages;
    private final MessageListener listener = new MessageListener() {
        @Override
        public void onOpened(MessageChannel channel) {
            opened.add(channel);
        }

        @Override
        public void onMessage(MessageChannel channel, MemorySegment message) {
            messages++;
        }

        @Override
        public void onClosed(MessageChannel channel) {
            opened.remove(channel);
        }
    };

    final String id;
    final Incarnation incarnation;
    final LinkOptions options;
    final LinkSession session;
    private final LinkKeys keys;
    private final PagePool pool;
    private final Transports transports;
    private final List<LinkShard> shards;
    private final Fetcher fetcher;
    /** Whether it neither publishes nor reads what devices may reach, as agents of earlier releases. */
    boolean isOfEarlierRelease;

    private final Destroyer destroyer = new Destroyer(() -> {});
    private final LinkContext context;
    private final CompletionQueueControl completionQueues;

    LinkNode(String id, String peer, TransportMode mode, FaultyProvider rdma, LongSupplier clock) {
        this(id, peer, mode, rdma, clock, 1);
    }

    LinkNode(String id, String peer, TransportMode mode, FaultyProvider rdma, LongSupplier clock, int shardCount) {
        this.id = id;
        incarnation = new Incarnation(id.hashCode());
        keys = LinkKeys.generate(id, incarnation, Optional.empty());
        SoftProvider tcp = new SoftProvider(SoftOptions.DEFAULT.withResponders(
                new SoftOptions.Responders(io.farpage.verbs.soft.IdleStrategy.BLOCK, Duration.ZERO)));
        try {
            pool = PagePool.open(PoolConfig.of(id, incarnation.value(), POOL_BYTES, POOL_BYTES)
                    .withHugepages(HugepagePolicy.OFF, HugepageSize.TWO_MIB));
        } catch (PoolException e) {
            throw new IllegalStateException(e);
        }
        transports = Transports.open(mode, rdma, tcp, pool, System::nanoTime);
        QpOptions queuePairs = new QpOptions(
                new QpOptions.Sizes(8, 1, 1, 0, 8),
                QpOptions.DEFAULT.retries(),
                QpOptions.DEFAULT.path(),
                EnumSet.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE));
        options = LinkOptions.of(queuePairs, 4, Duration.ofMillis(500), Duration.ofSeconds(5));
        pool.stagingFrames().allocateRun(2);
        shards = IntStream.range(0, shardCount)
                .mapToObj(number -> shard(number, clock))
                .toList();
        fetcher = shards.getFirst()
                .loop()
                .shard()
                .newFetcher(1, Duration.ofHours(1).toNanos());
        context = new LinkContext(id, transports, shards, options, destroyer, clock);
        completionQueues = new CompletionQueueControl(context);
        session = new LinkSession(peer, context);
    }

    private MessageMemory messages() {
        return new MessageMemory(
                pool.staging().asSlice(HELLOS_AT, HEADERS * MessageChannel.HEADER_BYTES * 4L), pool, HEADERS);
    }

    private LinkShard shard(int number, LongSupplier clock) {
        ShardRails rails = new ShardRails(transports.devices(), 1024);
        Shard shard = new Shard(
                rails.rails(),
                pool.staging().asSlice((long) number * HEADERS * PoolHeader.BYTES, HEADERS * PoolHeader.BYTES),
                number == 0 ? messages() : MessageMemory.none(),
                clock,
                () -> {});
        shard.listen(listener);
        ShardLoop.Options idle = new ShardLoop.Options(
                "shard " + number + " of " + id,
                IdleStrategy.BLOCK,
                Duration.ZERO,
                OptionalInt.empty(),
                ThreadScheduling.ordinary());
        return new LinkShard(new ShardLoop(shard, idle), rails);
    }

    /** A duty cycle of each shard, and then what the links' thread does about its notices. */
    void step() {
        for (LinkShard each : shards) {
            Shard shard = each.loop().shard();
            shard.doWork();
            for (ShardNotice notice = shard.pollNotice(); notice != null; notice = shard.pollNotice()) {
                if (notice instanceof ShardNotice.RailFailed failed) {
                    completionQueues.failed(each, failed.rail(), failed.reason());
                }
                session.handle(notice);
            }
        }
        context.destroyer().runContinuations();
        completionQueues.step(session::uses);
    }

    /** Wants messages on the link of the first shard. */
    void openMessages() {
        shards.getFirst()
                .loop()
                .submit(new ShardCommand.OpenMessages(session.links().getFirst()));
    }

    /** The best device. */
    OpenDevice device() {
        return transports.devices().getFirst();
    }

    /** Makes the shard read a page of {@code home} over the link. */
    void read(LinkNode home) {
        session.grant(home.grants());
        fetcher.read(
                Priority.DEMAND,
                session.links().getFirst(),
                home.incarnation.value(),
                0,
                4096,
                pool.stagingAddress() + POOL_BYTES / 2);
    }

    /** All exported frames, on every device. */
    PeerGrants grants() {
        return grants(_ -> true);
    }

    /** All exported frames, on some devices. */
    PeerGrants grants(Predicate<TransportKind> over) {
        return grantsOn(open -> over.test(open.transport()));
    }

    /** All exported frames, on all devices but one. */
    PeerGrants grantsWithout(String device) {
        return grantsOn(open -> !open.device().name().equals(device));
    }

    private PeerGrants grantsOn(Predicate<OpenDevice> devices) {
        return new PeerGrants(
                incarnation.value(),
                1,
                transports.devices().stream()
                        .filter(devices)
                        .collect(Collectors.toMap(open -> open.device().name(), LinkNode::granted)));
    }

    private static DeviceGrants granted(OpenDevice open) {
        MemoryRegion all = open.export(0, POOL_BYTES);
        return new DeviceGrants(
                GrantedRanges.of(List.of(new GrantedRanges.Range(0, all.length(), all.address(), all.rkey()))),
                GrantedRanges.NOTHING);
    }

    String state() {
        return (session.status().state() + " " + session.status().transport()).strip();
    }

    /** Offers queue pairs to {@code peer}, which has offered none. */
    void offer(long attempt, LinkNode peer) {
        session.offer(attempt, peer.view(), keys.with(peer.view().node()), Optional.empty());
    }

    /** Answers the offer of {@code peer}. */
    void answer(long attempt, LinkNode peer) {
        session.answer(attempt, peer.view(), keys.with(peer.view().node()), peer.published(this));
    }

    /** What this node publishes toward {@code peer}. */
    Endpoint published(LinkNode peer) {
        EndpointRequest own = session.toPublish(incarnation);
        EndpointRequest request = isOfEarlierRelease || peer.isOfEarlierRelease ? own.reduced() : own;
        return new Endpoint(
                id,
                peer.id,
                request.incarnation(),
                request.peerIncarnation(),
                request.attempt(),
                request.answers(),
                request.entries(),
                request.trial(),
                1);
    }

    /** What the coordinator says of this node. */
    PeerView view() {
        Node node = new Node(
                id,
                incarnation,
                "host",
                "127.0.0.1:7401",
                2,
                1L << 33,
                transports.devices().stream()
                        .map(open -> new DeviceInfo(
                                open.device().name(),
                                open.transport(),
                                1,
                                open.fabric().linkLayer(),
                                OptionalInt.empty(),
                                OptionalInt.of(open.rail())))
                        .toList(),
                new PoolInfo(POOL_BYTES, 4096, Optional.empty()),
                transports.devices().stream().map(OpenDevice::transport).toList(),
                Optional.of(keys.published()),
                NodeStatus.ACTIVE,
                Optional.empty(),
                Instant.EPOCH,
                Optional.empty());
        return new PeerView(node);
    }

    @Override
    public void close() {
        try {
            assertTrue(destroyer.stop(Deadlines.of(Deadlines.SHORT)), "queue pairs are still being destroyed");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        session.close();
        shards.forEach(each -> each.loop().close());
        shards.forEach(each -> each.rails().close());
        transports.close();
        pool.close();
    }
}
