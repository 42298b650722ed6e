package io.farpage.agent.control.link;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.control.device.OpenDevice;
import io.farpage.agent.control.device.TransportMode;
import io.farpage.agent.control.device.Transports;
import io.farpage.agent.data.shard.IdleStrategy;
import io.farpage.agent.data.shard.Rail;
import io.farpage.agent.data.shard.Shard;
import io.farpage.agent.data.shard.ShardLoop;
import io.farpage.linux.ThreadScheduling;
import io.farpage.pool.HugepagePolicy;
import io.farpage.pool.PagePool;
import io.farpage.pool.PoolConfig;
import io.farpage.pool.PoolException;
import io.farpage.pool.header.PoolHeader;
import io.farpage.pool.hugepages.HugepageSize;
import io.farpage.verbs.QpOptions;
import java.time.Duration;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * Two shards and a device that was opened after they were made. Everything moves by hand; the clock stands still unless
 * it is moved.
 */
final class CompletionQueueControlTest {
    private static final int POOL_BYTES = 2 << 20;
    private static final Duration PAUSE = Duration.ofSeconds(1);

    private final FaultyProvider rdma = new FaultyProvider();
    private long now = 1_000_000_000;
    private final PagePool pool = pool();
    private final Transports transports = Transports.open(TransportMode.RDMA, rdma, rdma, pool, System::nanoTime);
    private final OpenDevice device = transports.devices().getFirst();
    private final List<LinkShard> shards =
            IntStream.range(0, 2).mapToObj(this::shard).toList();
    private final LinkContext context = new LinkContext(
            "a",
            transports,
            shards,
            LinkOptions.of(QpOptions.DEFAULT, 4, Duration.ofMillis(500), Duration.ofSeconds(5)),
            new Destroyer(() -> {}),
            () -> now);
    private final CompletionQueueControl control = new CompletionQueueControl(context);

    private static PagePool pool() {
        try {
            return PagePool.open(PoolConfig.of("a", 1, POOL_BYTES, POOL_BYTES)
                    .withHugepages(HugepagePolicy.OFF, HugepageSize.TWO_MIB));
        } catch (PoolException e) {
            throw new IllegalStateException(e);
        }
    }

    private LinkShard shard(int number) {
        ShardRails rails = new ShardRails(List.of(), 16);
        Shard shard = new Shard(
                rails.rails(),
                pool.staging().asSlice((long) number * PoolHeader.BYTES, PoolHeader.BYTES),
                () -> now,
                () -> {});
        return new LinkShard(
                new ShardLoop(
                        shard,
                        new ShardLoop.Options(
                                "shard-" + number,
                                IdleStrategy.BLOCK,
                                Duration.ZERO,
                                OptionalInt.empty(),
                                ThreadScheduling.ordinary())),
                rails);
    }

    @AfterEach
    void close() {
        shards.forEach(shard -> shard.loop().close());
        shards.forEach(shard -> shard.rails().close());
        transports.close();
        pool.close();
    }

    private void step() {
        control.step(_ -> false);
        shards.forEach(shard -> shard.loop().shard().doWork());
    }

    private void pass(Duration time) {
        now += time.toNanos();
    }

    private Rail rail(int shard) {
        return shards.get(shard).rails().on(device);
    }

    @Test
    void shouldCreateAQueueForEachShardWhenADeviceIsOpenedLater() {
        assertEquals(List.of(), context.usableDevices());
        step();
        assertEquals(List.of(device), context.usableDevices());
        for (LinkShard shard : shards) {
            rdma.pollFails = true;
            shard.loop().shard().doWork();
            assertFalse(rdma.pollFails, "the shard polls it");
        }
    }

    @Test
    void shouldCreateWhatADeviceRefusedAfterPausesThatDouble() {
        rdma.queueRefusals.set(3);
        step();
        assertTrue(shards.stream().noneMatch(shard -> shard.rails().has(device)));
        assertEquals(1, rdma.queueRefusals.get(), "a refused creation is not repeated at once");
        step();
        assertEquals(1, rdma.queueRefusals.get());

        pass(PAUSE);
        step();
        assertTrue(shards.get(1).rails().has(device));
        assertEquals(List.of(), context.usableDevices(), "shard-0 has none");

        pass(PAUSE.multipliedBy(2).minusNanos(1));
        step();
        assertEquals(List.of(), context.usableDevices());
        pass(Duration.ofNanos(1));
        step();
        assertEquals(List.of(device), context.usableDevices());
    }

    @Test
    void shouldRenewAFailedQueueOnceTheDeviceDestroysAndCreatesIt() {
        step();
        Rail failed = rail(0);
        control.failed(shards.getFirst(), failed, "for a test");
        step();
        assertEquals(failed, rail(0), "the pause lasts");

        rdma.queueCloseRefusals.set(1);
        pass(PAUSE);
        step();
        assertFalse(shards.getFirst().rails().has(device), "it is not destroyed yet");
        rdma.queueRefusals.set(1);
        pass(PAUSE.multipliedBy(2));
        step();
        assertFalse(shards.getFirst().rails().has(device), "no other is created yet");
        pass(PAUSE.multipliedBy(4));
        step();
        assertEquals(List.of(device), context.usableDevices());
        assertFalse(rail(0).equals(failed));
    }

    @Test
    void shouldFailACompletionQueueWhenTheDeviceReportsItsFailure() {
        step();
        Rail rail = rail(0);
        shards.getFirst().rails().fail(device, shards.getFirst().loop(), "the device says so");
        step();
        assertTrue(rail.hasFailed());
        assertFalse(rail(1).hasFailed(), "of another shard");
    }

    @Test
    void shouldNotCreateACompletionQueueWhileTheDeviceIsInUse() {
        control.step(_ -> true);
        assertEquals(List.of(), context.usableDevices());
    }

    @Test
    void shouldDestroyTheQueuesOfALostDeviceWhenItRefusesAtFirst() {
        step();
        rdma.queueCloseRefusals.set(1);
        CompletableFuture<Void> refused = control.abandon(device);
        control.step(_ -> true);
        assertFalse(refused.isDone());
        step();
        assertTrue(refused.isCompletedExceptionally());
        assertEquals(1, rdma.openQueues.get());

        CompletableFuture<Void> done = control.abandon(device);
        control.step(_ -> false);
        shards.forEach(shard -> shard.loop().shard().doWork());
        assertTrue(done.isDone() && !done.isCompletedExceptionally());
        assertEquals(0, rdma.openQueues.get());
    }
}
