package io.farpage.agent.data.shard;

import io.farpage.agent.control.device.OpenDevice;
import io.farpage.agent.control.device.TransportMode;
import io.farpage.agent.control.device.Transports;
import io.farpage.agent.control.link.ShardRails;
import io.farpage.pool.HugepagePolicy;
import io.farpage.pool.PagePool;
import io.farpage.pool.PoolConfig;
import io.farpage.pool.PoolException;
import io.farpage.pool.hugepages.HugepageSize;
import io.farpage.verbs.AccessFlag;
import io.farpage.verbs.MemoryRegion;
import io.farpage.verbs.QpOptions;
import io.farpage.verbs.QueuePair;
import io.farpage.verbs.soft.IdleStrategy;
import io.farpage.verbs.soft.SoftOptions;
import io.farpage.verbs.soft.SoftProvider;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;

/** A node's pool and its soft device on loopback: what a shard works with, or what its peer offers it. */
final class Home implements AutoCloseable {
    static final long INCARNATION = 7;
    static final int BYTES = 2 << 20;
    static final int PAGE = 4096;

    private static final int QUEUE = 8;

    final PagePool pool;
    static final String DEVICE = "soft0";

    final ShardRails rails;
    private final Transports transports;
    private MemoryRegion exported;
    private final List<QueuePair> queuePairs = new ArrayList<>();

    private final QpOptions options;

    Home(String id) {
        this(
                id,
                new QpOptions(
                        new QpOptions.Sizes(QUEUE, 1, 1, 0, QUEUE),
                        QpOptions.DEFAULT.retries(),
                        QpOptions.DEFAULT.path(),
                        EnumSet.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE)),
                16 * QUEUE);
    }

    /**
     * A node.
     *
     * @param options of its queue pairs
     * @param completions that its completion queue holds
     */
    Home(String id, QpOptions options, int completions) {
        this.options = options;
        SoftProvider soft = new SoftProvider(
                SoftOptions.DEFAULT.withResponders(new SoftOptions.Responders(IdleStrategy.BLOCK, Duration.ZERO)));
        try {
            pool = PagePool.open(PoolConfig.of(id, INCARNATION, BYTES, BYTES)
                    .withHugepages(HugepagePolicy.OFF, HugepageSize.TWO_MIB));
        } catch (PoolException e) {
            throw new IllegalStateException(e);
        }
        transports = Transports.open(TransportMode.TCP, soft, soft, pool, System::nanoTime);
        rails = new ShardRails(transports.devices(), completions);
        exported = device().export(0, BYTES);
    }

    Rail rail() {
        return rails.rails().getFirst();
    }

    private OpenDevice device() {
        return transports.devices().getFirst();
    }

    /** A queue pair in INIT. */
    QueuePair queuePair() {
        QueuePair queuePair =
                device().domain().createQueuePair(rail().completionQueue(), rail().completionQueue(), options);
        queuePair.modifyToInit();
        queuePairs.add(queuePair);
        return queuePair;
    }

    /** What a peer needs to reach the pool. */
    PeerMemory memory() {
        return new PeerMemory(
                INCARNATION, device().header().address(), device().header().rkey(), DEVICE, granted(exported.rkey()));
    }

    /** All exported frames, under a key. */
    GrantedRanges granted(int rkey) {
        return GrantedRanges.of(List.of(new GrantedRanges.Range(0, exported.length(), exported.address(), rkey)));
    }

    /** Deregisters the region of the exported frames, and registers it anew. */
    void renewExported() {
        exported.close();
        exported = device().export(0, BYTES);
    }

    /** Destroys the queue pairs that it has made. */
    void closeQueuePairs() {
        queuePairs.forEach(QueuePair::close);
        queuePairs.clear();
    }

    @Override
    public void close() {
        closeQueuePairs();
        rails.close();
        transports.close();
        pool.close();
    }
}
