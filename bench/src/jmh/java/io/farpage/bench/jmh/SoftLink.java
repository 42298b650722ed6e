package io.farpage.bench.jmh;

import io.farpage.agent.control.device.OpenDevice;
import io.farpage.agent.control.device.TransportMode;
import io.farpage.agent.control.device.Transports;
import io.farpage.agent.control.link.ShardRails;
import io.farpage.agent.data.shard.Connection;
import io.farpage.agent.data.shard.GrantedRanges;
import io.farpage.agent.data.shard.LinkPhase;
import io.farpage.agent.data.shard.PeerLink;
import io.farpage.agent.data.shard.PeerMemory;
import io.farpage.agent.data.shard.Rail;
import io.farpage.agent.data.shard.Shard;
import io.farpage.agent.data.shard.ShardCommand;
import io.farpage.pool.HugepagePolicy;
import io.farpage.pool.PagePool;
import io.farpage.pool.PoolConfig;
import io.farpage.pool.PoolException;
import io.farpage.pool.header.PoolHeader;
import io.farpage.pool.hugepages.HugepageSize;
import io.farpage.verbs.AccessFlag;
import io.farpage.verbs.MemoryRegion;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.QueuePair;
import io.farpage.verbs.soft.IdleStrategy;
import io.farpage.verbs.soft.SoftOptions;
import io.farpage.verbs.soft.SoftProvider;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A shard, turned over by hand, and a home that it is linked with, both in this JVM and over loopback TCP. */
final class SoftLink implements AutoCloseable {
    static final long INCARNATION = 7;

    private static final String HOME = "home";
    private static final long BYTES = 4 << 20;
    private static final int QUEUE = 128;

    private final Node here = new Node("here", IdleStrategy.BLOCK);
    private final Node home = new Node(HOME, IdleStrategy.BLOCK);
    private final Shard shard;
    private final PeerLink link = new PeerLink(HOME);

    private static final class Node implements AutoCloseable {
        final PagePool pool;
        final Transports transports;
        final OpenDevice device;
        final MemoryRegion exported;
        final ShardRails rails;
        final QueuePair queuePair;

        Node(String id, IdleStrategy idle) {
            SoftProvider soft = new SoftProvider(
                    SoftOptions.DEFAULT.withResponders(new SoftOptions.Responders(idle, Duration.ZERO)));
            try {
                pool = PagePool.open(PoolConfig.of(id, INCARNATION, BYTES, BYTES)
                        .withHugepages(HugepagePolicy.OFF, HugepageSize.TWO_MIB));
            } catch (PoolException e) {
                throw new IllegalStateException(e);
            }
            transports = Transports.open(TransportMode.TCP, soft, soft, pool, System::nanoTime);
            device = transports.devices().getFirst();
            exported = device.export(0, BYTES);
            rails = new ShardRails(transports.devices(), 4 * QUEUE);
            queuePair = device.domain()
                    .createQueuePair(
                            rail().completionQueue(),
                            rail().completionQueue(),
                            new QpOptions(
                                    new QpOptions.Sizes(QUEUE, 1, 1, 0, QUEUE),
                                    QpOptions.DEFAULT.retries(),
                                    QpOptions.DEFAULT.path(),
                                    EnumSet.of(
                                            AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE)));
            queuePair.modifyToInit();
        }

        Rail rail() {
            return rails.rails().getFirst();
        }

        PeerMemory memory() {
            return new PeerMemory(
                    INCARNATION,
                    device.header().address(),
                    device.header().rkey(),
                    device.device().name(),
                    GrantedRanges.of(List.of(
                            new GrantedRanges.Range(0, exported.length(), exported.address(), exported.rkey()))));
        }

        @Override
        public void close() {
            rails.close();
            transports.close();
            pool.close();
        }
    }

    SoftLink() {
        home.queuePair.modifyToRtr(here.queuePair.endpoint());
        here.queuePair.modifyToRtr(home.queuePair.endpoint());
        home.queuePair.modifyToRts();
        here.queuePair.modifyToRts();
        // The last page of the staging frames takes the home's header.
        shard = new Shard(
                here.rails.rails(),
                here.pool.staging().asSlice(BYTES - PoolHeader.BYTES, PoolHeader.BYTES),
                System::nanoTime,
                () -> {});
        shard.submit(new ShardCommand.Install(
                link, new Connection(here.queuePair, here.rail(), INCARNATION, home.memory(), /* attempt= */ 1)));
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
        while (link.phase() != LinkPhase.UP) {
            shard.doWork();
            if (System.nanoTime() - deadline > 0) {
                throw new IllegalStateException("no link within 10 s: " + link.lastFailure());
            }
        }
    }

    Shard shard() {
        return shard;
    }

    PeerLink link() {
        return link;
    }

    /** Where pages may land. */
    long stagingAddress() {
        return here.pool.stagingAddress();
    }

    @Override
    public void close() {
        shard.close();
        home.queuePair.close();
        here.close();
        home.close();
    }
}
