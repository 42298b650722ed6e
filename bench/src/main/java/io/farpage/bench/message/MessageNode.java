package io.farpage.bench.message;

import io.farpage.agent.control.device.OpenDevice;
import io.farpage.agent.control.device.TransportMode;
import io.farpage.agent.control.device.Transports;
import io.farpage.agent.control.link.ShardRails;
import io.farpage.agent.data.shard.Connection;
import io.farpage.agent.data.shard.DutyCycle;
import io.farpage.agent.data.shard.GrantedRanges;
import io.farpage.agent.data.shard.HelloReceive;
import io.farpage.agent.data.shard.IdleStrategy;
import io.farpage.agent.data.shard.MessageChannel;
import io.farpage.agent.data.shard.MessageListener;
import io.farpage.agent.data.shard.MessageMemory;
import io.farpage.agent.data.shard.PeerLink;
import io.farpage.agent.data.shard.PeerMemory;
import io.farpage.agent.data.shard.Rail;
import io.farpage.agent.data.shard.Shard;
import io.farpage.agent.data.shard.ShardCommand;
import io.farpage.agent.data.shard.ShardLoop;
import io.farpage.guest.command.CommandException;
import io.farpage.linux.ThreadScheduling;
import io.farpage.pool.HugepagePolicy;
import io.farpage.pool.PagePool;
import io.farpage.pool.PoolConfig;
import io.farpage.pool.PoolException;
import io.farpage.pool.header.PoolHeader;
import io.farpage.pool.hugepages.HugepageSize;
import io.farpage.verbs.AccessFlag;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.QueuePair;
import io.farpage.verbs.soft.SoftOptions;
import io.farpage.verbs.soft.SoftProvider;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/** A node with one shard and one queue pair over the soft provider. */
final class MessageNode implements AutoCloseable {
    private static final long INCARNATION = 1;
    private static final int POOL_BYTES = 2 << 20;
    private static final int FRAMES_OF_HEADERS = 2;

    private final PagePool pool;
    private final Transports transports;
    private final ShardRails rails;
    private final ShardLoop loop;
    private final QueuePair queuePair;
    private final HelloReceive hello;

    MessageNode(String id, IdleStrategy idle, int cpu, MessageListener listener) {
        boolean spins = idle == IdleStrategy.SPIN;
        SoftProvider soft = new SoftProvider(SoftOptions.DEFAULT.withResponders(new SoftOptions.Responders(
                spins ? io.farpage.verbs.soft.IdleStrategy.SPIN : io.farpage.verbs.soft.IdleStrategy.BLOCK,
                Duration.ZERO)));
        try {
            pool = PagePool.open(PoolConfig.of(id, INCARNATION, POOL_BYTES, POOL_BYTES)
                    .withHugepages(HugepagePolicy.OFF, HugepageSize.TWO_MIB));
        } catch (PoolException e) {
            throw new CommandException("no memory for " + id + ": " + e.getMessage(), e);
        }
        transports = Transports.open(TransportMode.TCP, soft, soft, pool, System::nanoTime);
        QpOptions options = MessageMemory.enlarged(new QpOptions(
                QpOptions.DEFAULT.sizes().withQueues(16, 1),
                QpOptions.DEFAULT.retries(),
                QpOptions.DEFAULT.path(),
                EnumSet.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE)));
        rails = new ShardRails(
                transports.devices(),
                options.sizes().maxSendWr() + options.sizes().maxRecvWr());
        int first = pool.stagingFrames().allocateRun(FRAMES_OF_HEADERS);
        MessageMemory messages =
                new MessageMemory(pool.staging().asSlice(pool.offset(first + 1), MessageChannel.HEADER_BYTES), pool, 1);
        Shard shard = new Shard(
                rails.rails(),
                pool.staging().asSlice(pool.offset(first), PoolHeader.BYTES),
                messages,
                System::nanoTime,
                () -> {});
        shard.listen(listener);
        loop = new ShardLoop(
                shard,
                new ShardLoop.Options(id, idle, Duration.ZERO, OptionalInt.of(cpu), ThreadScheduling.ordinary()));
        if (spins) {
            loop.submit(new ShardCommand.AddCycle(new Spinning()));
        }
        queuePair = device().domain().createQueuePair(rail().completionQueue(), rail().completionQueue(), options);
        queuePair.modifyToInit();
        hello = messages.post(queuePair, rail()).orElseThrow();
    }

    /** Keeps the shard's thread from sleeping. */
    private static final class Spinning implements DutyCycle {
        @Override
        public int doWork() {
            return 0;
        }

        @Override
        public boolean needsPolling() {
            return true;
        }
    }

    private OpenDevice device() {
        return transports.devices().getFirst();
    }

    private Rail rail() {
        return rails.rails().getFirst();
    }

    ShardLoop loop() {
        return loop;
    }

    /** Connects both, has one open a channel, and starts their threads. */
    static void connect(MessageNode one, MessageNode other) {
        one.queuePair.modifyToRtr(other.queuePair.endpoint());
        other.queuePair.modifyToRtr(one.queuePair.endpoint());
        one.queuePair.modifyToRts();
        other.queuePair.modifyToRts();
        PeerLink link = one.install(other);
        other.install(one);
        one.loop.submit(new ShardCommand.OpenMessages(link));
        one.loop.start();
        other.loop.start();
    }

    private PeerLink install(MessageNode peer) {
        PeerLink link = new PeerLink(peer.pool.config().nodeId());
        PeerMemory memory = new PeerMemory(
                INCARNATION,
                peer.device().header().address(),
                peer.device().header().rkey(),
                peer.device().device().name(),
                GrantedRanges.of(List.of()));
        loop.submit(new ShardCommand.Install(
                link, new Connection(queuePair, rail(), INCARNATION, memory, 1, Optional.of(hello))));
        return link;
    }

    @Override
    public void close() {
        loop.close();
        queuePair.close();
        rails.close();
        transports.close();
        pool.close();
    }
}
