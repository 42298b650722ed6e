package io.farpage.agent.control.guest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.control.LinkKeys;
import io.farpage.agent.control.LocalNode;
import io.farpage.agent.control.TestCoordinator;
import io.farpage.agent.control.page.PageTool;
import io.farpage.agent.control.page.SpacePresence;
import io.farpage.agent.control.pins.PinPolicy;
import io.farpage.agent.control.seal.Seals;
import io.farpage.agent.control.space.Claim;
import io.farpage.agent.control.space.Drops;
import io.farpage.agent.control.space.SpaceUse;
import io.farpage.agent.control.space.Spaces;
import io.farpage.agent.data.pager.Pager;
import io.farpage.agent.data.pager.PagerEnd;
import io.farpage.agent.data.pager.RecordingKernel;
import io.farpage.agent.data.pager.evict.FreezeStatus.State;
import io.farpage.agent.data.pager.memory.PagedGuest;
import io.farpage.agent.data.pager.memory.Pins;
import io.farpage.agent.data.pager.page.GuestRegion;
import io.farpage.agent.data.pager.page.PagerOptions;
import io.farpage.agent.data.pager.page.PresenceMap;
import io.farpage.agent.data.pager.page.VictimMemory;
import io.farpage.agent.data.shard.IdleStrategy;
import io.farpage.agent.data.shard.PeerLink;
import io.farpage.agent.data.shard.Shard;
import io.farpage.agent.data.shard.ShardLoop;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.client.CoordinatorException;
import io.farpage.coordinator.model.HostedAck;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Presence;
import io.farpage.coordinator.model.SnapshotRequest;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.linux.Errno;
import io.farpage.linux.ThreadScheduling;
import io.farpage.linux.uffd.GuestFile;
import io.farpage.pool.HugepagePolicy;
import io.farpage.pool.PagePool;
import io.farpage.pool.PoolConfig;
import io.farpage.pool.header.PoolHeader;
import io.farpage.pool.hugepages.HugepageSize;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A snapshot of a guest with one dirty page, whose home is this node. The coordinator is real, the connection to it
 * breaks, and a thread of the test runs the shard.
 */
final class GuestSnapshotTest {
    private static final int PAGE = 4096;
    private static final int PAGES = 64;
    private static final long POOL_BYTES = 1 << 20;
    private static final byte WRITTEN = 7;
    private static final Duration DEADLINE = Duration.ofSeconds(2);
    private static final Incarnation SELF = new Incarnation(7);

    @TempDir
    private Path directory = Path.of("");

    private final ShardLoop loop = new ShardLoop(
            new Shard(List.of(), Arena.ofAuto().allocate(PoolHeader.BYTES), System::nanoTime, () -> {}),
            new ShardLoop.Options(
                    "shard", IdleStrategy.BLOCK, Duration.ZERO, OptionalInt.empty(), ThreadScheduling.ordinary()));
    private final Thread shard = Thread.ofPlatform().unstarted(this::runShard);
    private TestCoordinator coordinator;
    private LossyProxy proxy;
    private CoordinatorClient client;
    private PagePool pool;
    private Spaces spaces;
    private SpaceUse use;

    @SuppressWarnings("NullAway.Init") // set before each test
    private Pager pager;

    private PagerFreezing freezing;
    private GuestSnapshot snapshot;

    private static final class Memory implements GuestFile {
        @Override
        @SuppressWarnings("restricted") // SAFETY: the caller owns these bytes of its staging memory.
        public long read(long offset, long address, long length) {
            MemorySegment.ofAddress(address).reinterpret(length).fill(WRITTEN);
            return length;
        }

        @Override
        public int punchHole(long offset, long length) {
            return 0;
        }

        @Override
        public long firstPage(long offset, long length) {
            return -Errno.ENXIO;
        }
    }

    private void runShard() {
        while (!Thread.currentThread().isInterrupted()) {
            if (loop.shard().doWork() == 0) {
                Thread.onSpinWait();
            }
        }
    }

    @BeforeEach
    void startAGuest() throws Exception {
        coordinator = new TestCoordinator(directory);
        coordinator.register("a", SELF, POOL_BYTES);
        coordinator
                .client()
                .createSpace(
                        new SpaceRequest("vm", (long) PAGES * PAGE, OptionalInt.of(PAGE), Optional.of(List.of("a"))));
        acknowledge();
        proxy = new LossyProxy(coordinator.url());
        client = new CoordinatorClient(proxy.url(), Duration.ofSeconds(10));
        pool = PagePool.open(PoolConfig.of("a", SELF.value(), POOL_BYTES, POOL_BYTES)
                .withHugepages(HugepagePolicy.OFF, HugepageSize.TWO_MIB));
        spaces = new Spaces(client, "a", SELF);
        use = spaces.useExclusively(spaces.resolve("vm").orElseThrow(), Claim.PLAIN)
                .orElseThrow();
        LocalNode self = new LocalNode("a", SELF, pool, client, LinkKeys.generate("a", SELF, Optional.empty()));
        freezing = new PagerFreezing(List.of(start(self)), () -> PresenceMap.zeros(PAGES));
        snapshot = new GuestSnapshot(
                use,
                freezing,
                new SpacePresence(new PageTool(self, loop, PeerLink::new, 1, DEADLINE)),
                "s",
                System::nanoTime);
        shard.start();
        Deadlines.await("a page that the guest has written to", Deadlines.SHORT)
                .until(() -> pager.status().residentPages() == 1);
    }

    private SlicePager start(LocalNode self) {
        GuestOptions options = new GuestOptions(
                4,
                DEADLINE,
                DEADLINE,
                Duration.ZERO,
                new PinPolicy(PinPolicy.Mode.HOLD, Duration.ZERO),
                new Seals(Seals.Options.none(directory)),
                Drops.Options.DEFAULT,
                new GuestKeeping("a", SELF, Optional.empty()),
                VictimMemory.NONE);
        PagerHost host = new PagerHost(0, self, loop, PeerLink::new, options, spaces.drops());
        RecordingKernel kernel = new RecordingKernel();
        kernel.messages = writer -> writer.fault(RecordingKernel.BASE, true, false);
        List<GuestRegion> regions = List.of(new GuestRegion(RecordingKernel.BASE, (long) PAGES * PAGE, 0));
        PagedGuest guest = new PagedGuest(
                "vm",
                kernel,
                new Memory(),
                regions,
                PAGE,
                false,
                PresenceMap.zeros(PAGES),
                Pins.NONE,
                null,
                null,
                false);
        CompletableFuture<PagerEnd> ended = new CompletableFuture<>();
        pager = host.make(guest, use::map, new PagerOptions(PAGES, 1), host.writers(), ended);
        host.start(pager);
        return new SlicePager(
                new Slice(0, 0, PAGES, regions), pager, host, SlicePager.Latencies.of(pager.counters()), ended);
    }

    @AfterEach
    void close() throws InterruptedException {
        snapshot.stop();
        shard.interrupt();
        Deadlines.join("the shard", Deadlines.SHORT, shard);
        spaces.close();
        client.close();
        proxy.close();
        loop.close();
        pool.close();
        coordinator.close();
    }

    /** The home knows what it hosts: an attachment waits for that. */
    private void acknowledge() throws CoordinatorException {
        long revision = coordinator.client().hosted("a").revision();
        coordinator.client().acknowledgeHosted("a", new HostedAck(SELF, revision, List.of(), List.of()));
    }

    private SnapshotStatus end() {
        Deadlines.await("the end of the snapshot", Deadlines.SHORT).until(() -> {
            acknowledge();
            return snapshot.status().hasEnded();
        });
        Deadlines.await("the end of the freeze", Deadlines.SHORT)
                .until(() -> pager.frozen().state() == State.OFF);
        return snapshot.status();
    }

    private void awaitRequest(int count) {
        Deadlines.await("the request", Deadlines.SHORT).until(() -> proxy.asked.size() >= count);
    }

    private Optional<Space> made() throws Exception {
        return coordinator.client().space("s");
    }

    private byte home() {
        return pool.exported().get(ValueLayout.JAVA_BYTE, use.map().offset(0, 0));
    }

    @Test
    void shouldMakeASnapshotOfWhatTheGuestHasWritten() throws Exception {
        SnapshotStatus begun = snapshot.freeze();
        assertEquals(SnapshotStatus.SAVING, begun.state());
        SnapshotStatus ended = end();
        assertEquals(SnapshotStatus.MADE, ended.state(), ended::detail);
        assertEquals(PAGE, ended.frozenBytes());
        assertEquals(0, ended.leftBytes());
        assertEquals(WRITTEN, home());
        Space made = made().orElseThrow();
        assertTrue(made.presence().flatMap(Presence::mark).isPresent());
        assertEquals(OptionalLong.of(made.id()), use.space().base());
        assertTrue(use.map().isAtBase(0));
        assertEquals(made.id(), use.base().orElseThrow().map().id());
        assertEquals(
                List.of(1), proxy.asked.stream().map(SnapshotRequest::attempt).toList());
    }

    @Test
    void shouldGoOnAsBeforeWhenTheCoordinatorRefuses() throws Exception {
        coordinator.client().createSpace(SpaceRequest.of("s", PAGE));
        snapshot.freeze();
        SnapshotStatus ended = end();
        assertEquals(SnapshotStatus.FAILED, ended.state());
        assertTrue(ended.detail().contains("a space named 's' exists"), ended::detail);
        assertEquals(OptionalLong.empty(), use.space().base());
        assertEquals(1, proxy.asked.size());
    }

    @Test
    void shouldAskAgainForTheSameSnapshotWhenTheAnswerWasLost() throws Exception {
        proxy.fate = LossyProxy.Fate.ANSWER_LOST;
        snapshot.freeze();
        awaitRequest(1);
        proxy.fate = LossyProxy.Fate.ANSWERED;
        SnapshotStatus ended = end();
        assertEquals(SnapshotStatus.MADE, ended.state(), ended::detail);
        assertEquals(OptionalLong.of(made().orElseThrow().id()), use.space().base());
        SnapshotRequest first = proxy.asked.getFirst();
        SnapshotRequest last = proxy.asked.getLast();
        assertEquals(1, first.attempt());
        assertTrue(last.attempt() > 1, last::toString);
        assertEquals(first.key(), last.key());
        assertEquals(first.name(), last.name());
    }

    @Test
    void shouldWriteNothingHomeWhileTheOutcomeIsUnknown() throws Exception {
        proxy.fate = LossyProxy.Fate.LOST;
        snapshot.freeze();
        awaitRequest(3);
        assertEquals(State.HANDING_OVER, pager.frozen().state());
        assertEquals(SnapshotStatus.SAVING, snapshot.status().state());
        assertTrue(!snapshot.status().detail().isEmpty(), "it says what it waits for");
        snapshot.stop();
        for (Thread each : Thread.getAllStackTraces().keySet()) {
            if (each.getName().equals("snapshot-vm")) {
                Deadlines.join("the snapshot", Deadlines.SHORT, each);
            }
        }
        assertTrue(freezing.handOver(), "this agent ends, and the outcome is still unknown");
        assertEquals(Optional.empty(), made());
    }
}
