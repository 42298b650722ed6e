package io.farpage.agent.data.pager.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.pager.Pager;
import io.farpage.agent.data.pager.RecordingKernel;
import io.farpage.agent.data.pager.home.Mirroring;
import io.farpage.agent.data.pager.home.PagerBacking;
import io.farpage.agent.data.pager.home.SpaceMap;
import io.farpage.agent.data.pager.memory.PagedGuest;
import io.farpage.agent.data.pager.memory.Pins;
import io.farpage.agent.data.pager.page.GuestRegion;
import io.farpage.agent.data.pager.page.PagerOptions;
import io.farpage.agent.data.pager.page.PresenceMap;
import io.farpage.agent.data.shard.Connection;
import io.farpage.agent.data.shard.LinkPhase;
import io.farpage.agent.data.shard.PeerLink;
import io.farpage.agent.data.shard.Shard;
import io.farpage.agent.data.shard.ShardCommand;
import io.farpage.agent.data.shard.ShardNotice;
import io.farpage.agent.data.shard.SilenceClock;
import io.farpage.linux.Errno;
import io.farpage.linux.uffd.GuestFile;
import io.farpage.pool.header.PoolHeader;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Each page is at this node and at another home, to which a WRITE is under way. When that home counts as silent. */
class SilentHomeTest {
    private static final int PAGES = 16;
    private static final long MILLISECOND = TimeUnit.MILLISECONDS.toNanos(1);
    private static final long DROP_AFTER = Mirroring.DROP_AFTER.toNanos();

    private final Setup setup = new Setup(PAGES, 0, 1, PAGES, 1, 4, World.MAX_FRAMES);
    private final SimulatedNetwork home = new SimulatedNetwork("home", PAGES, Memory.PAGE);
    private final PeerLink link = new PeerLink("home");
    private final RecordingKernel kernel = new RecordingKernel();
    private final List<String> suspicions = new ArrayList<>();
    private long now = 1_000 * MILLISECOND;
    private @Nullable Pager pager;
    private @Nullable SimulatedQueuePair queuePair;
    private int attempts;
    /** The same home over another device. */
    private final SimulatedNetwork better = new SimulatedNetwork("home", PAGES, Memory.PAGE);

    private final Shard shard = new Shard(
            List.of(home.rail(), better.rail()), Arena.ofAuto().allocate(2 * PoolHeader.BYTES), () -> now, () -> {});

    @BeforeEach
    void beginWrite() {
        ModelPool.reset(setup);
        Pager pager = serve();
        this.pager = pager;
        connect();
        for (int page = 0; page < 4; page++) {
            store(page);
        }
        pager.resize(2);
        runUntil(this::isWriteUnderWay);
        assertEquals(List.of(), suspicions);
    }

    /** The home has ended, or has given this process up. */
    private void breakLink() {
        Objects.requireNonNull(queuePair).fail();
        AtomicBoolean released = new AtomicBoolean();
        runUntil(() -> {
            released.compareAndSet(false, shard.pollNotice() instanceof ShardNotice.Released);
            return released.get();
        });
        shard.submit(new ShardCommand.Destroyed(link, attempts));
    }

    private Pager serve() {
        SpaceMap map = ModelPool.mirrored(
                setup, List.of(ModelPool.NODE, "home"), Optional.empty(), SpaceMap.Pull.NONE, false, 1);
        GuestFile file = new GuestFile() {
            @Override
            public long read(long offset, long address, long length) {
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
        };
        Mirroring mirroring = new Mirroring() {
            @Override
            public void suspect(String node, long incarnation, boolean silent) {
                suspicions.add(node + (silent ? " is silent" : " is down"));
            }
        };
        Pager pager = new Pager(
                new PagedGuest(
                        "mirrored",
                        kernel,
                        file,
                        List.of(new GuestRegion(RecordingKernel.BASE, (long) PAGES * Memory.PAGE, 0)),
                        Memory.PAGE,
                        true,
                        PresenceMap.unknown(PAGES),
                        Pins.NONE,
                        null,
                        null,
                        false),
                new PagerBacking(
                        ModelPool.NODE,
                        SimulatedNetwork.INCARNATION,
                        () -> map,
                        node -> link,
                        shard.newFetcher(8, 60_000 * MILLISECOND),
                        ModelPool.pool(setup),
                        ModelPool.shares(setup),
                        mirroring),
                new PagerOptions(PagerOptions.MIN_LOCAL_PAGES, 1),
                () -> now,
                end -> {});
        shard.submit(new ShardCommand.AddCycle(pager));
        return pager;
    }

    private void connect() {
        SimulatedQueuePair fresh = home.connect();
        queuePair = fresh;
        shard.submit(new ShardCommand.Install(
                link, new Connection(fresh, home.rail(), SimulatedNetwork.INCARNATION, home.memory(), ++attempts)));
        runUntil(() -> !home.underWay().isEmpty());
        home.complete();
        runUntil(() -> link.phase() == LinkPhase.UP);
    }

    private void store(int page) {
        kernel.messages = messages -> messages.fault(RecordingKernel.BASE + (long) page * Memory.PAGE, true, false);
        runUntil(() -> kernel.calls.stream().anyMatch(call -> call.endsWith(" " + page)));
    }

    private boolean isWriteUnderWay() {
        return home.underWay().stream().anyMatch(SimulatedNetwork.Transfer::write);
    }

    private void completeAll() {
        while (!home.underWay().isEmpty()) {
            home.complete();
        }
    }

    /** The process was stopped, or its CPU was taken away. The device's threads may have stood still as well. */
    @Test
    void shouldNotSuspectHomeWhenAgentStoodStill() {
        now += 2 * DROP_AFTER;
        cycle();
        assertEquals(List.of(), suspicions);
        completeAll();
        run(2 * DROP_AFTER);
        assertEquals(List.of(), suspicions);
    }

    @Test
    void shouldHandleCompletionBeforeItJudgesHome() {
        run(DROP_AFTER - 100 * MILLISECOND);
        completeAll();
        // The longest step that counts as time in which the agent ran.
        now += SilenceClock.MAX_STEP_NANOS;
        cycle();
        assertEquals(List.of(), suspicions);
    }

    @Test
    void shouldSuspectHomeThatIsSilentWhileAgentRuns() {
        now += 2 * DROP_AFTER;
        run(DROP_AFTER - 300 * MILLISECOND);
        assertEquals(List.of(), suspicions);
        run(200 * MILLISECOND);
        assertEquals("home is silent", suspicions.getFirst());
    }

    @Test
    void shouldSuspectAtOnceAHomeWhoseLinkBreaks() {
        breakLink();
        run(10 * MILLISECOND);
        assertEquals("home is down", suspicions.getFirst());
    }

    /** The home may have given the link up while this process stood still, and makes another. */
    @Test
    void shouldNotSuspectAHomeWhenItsLinkIsMadeAnewAfterAStandstill() {
        now += 2 * DROP_AFTER;
        breakLink();
        run(DROP_AFTER - 100 * MILLISECOND);
        assertEquals(List.of(), suspicions);
        connect();
        completeAll();
        run(DROP_AFTER / 2);
        assertEquals(List.of(), suspicions);
    }

    @Test
    void shouldSuspectAHomeWhenItsLinkStaysDownAfterAStandstill() {
        now += 2 * DROP_AFTER;
        breakLink();
        run(DROP_AFTER + 200 * MILLISECOND);
        assertEquals("home is down", suspicions.getFirst());
    }

    /** Nothing is posted on a link that waits for its last WRITE to move to another device. */
    @Test
    void shouldNotSuspectAHomeWhoseLinkIsSwitched() {
        Pager served = Objects.requireNonNull(pager);
        PeerLink trial = new PeerLink("home");
        shard.submit(new ShardCommand.Install(
                trial,
                new Connection(better.connect(), better.rail(), SimulatedNetwork.INCARNATION, better.memory(), 2)));
        runUntil(() -> !better.underWay().isEmpty());
        better.complete();
        runUntil(() -> trial.phase() == LinkPhase.UP);
        served.resize(PAGES);
        store(8);
        shard.submit(new ShardCommand.Switch(link, trial));
        served.resize(2);
        run(DROP_AFTER / 2);
        assertEquals(LinkPhase.SWITCHING, link.phase());
        assertEquals(List.of(), suspicions);
        completeAll();
        runUntil(() -> link.phase() == LinkPhase.UP);
        run(DROP_AFTER / 2);
        assertEquals(List.of(), suspicions);
    }

    private void cycle() {
        shard.doWork();
    }

    private void run(long nanos) {
        for (long end = now + nanos; now < end; now += 5 * MILLISECOND) {
            cycle();
        }
    }

    private void runUntil(BooleanSupplier holds) {
        for (int turn = 0; turn < 1_000 && !holds.getAsBoolean(); turn++) {
            now += MILLISECOND / 10;
            cycle();
        }
        assertTrue(holds.getAsBoolean(), () -> link + ", " + kernel.calls);
    }
}
