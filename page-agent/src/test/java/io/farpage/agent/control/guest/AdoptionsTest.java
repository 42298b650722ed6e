package io.farpage.agent.control.guest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.control.FailingRequests;
import io.farpage.agent.control.LinkKeys;
import io.farpage.agent.control.LocalNode;
import io.farpage.agent.control.TestCoordinator;
import io.farpage.agent.control.keeper.Keeper;
import io.farpage.agent.control.keeper.KeptMemory;
import io.farpage.agent.control.page.PageTool;
import io.farpage.agent.control.page.SpacePresence;
import io.farpage.agent.control.pins.PinPolicy;
import io.farpage.agent.control.pins.PinWatches;
import io.farpage.agent.control.seal.Seals;
import io.farpage.agent.control.space.Claim;
import io.farpage.agent.control.space.Drops;
import io.farpage.agent.control.space.Spaces;
import io.farpage.agent.data.pager.page.GuestRegion;
import io.farpage.agent.data.pager.page.VictimMemory;
import io.farpage.agent.data.shard.IdleStrategy;
import io.farpage.agent.data.shard.PeerLink;
import io.farpage.agent.data.shard.Shard;
import io.farpage.agent.data.shard.ShardLoop;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.model.Extent;
import io.farpage.coordinator.model.ExtentHome;
import io.farpage.coordinator.model.HostedAck;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.NodeReport;
import io.farpage.coordinator.model.PoolInfo;
import io.farpage.coordinator.model.Registration;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.coordinator.model.TransportKind;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.linux.Errno;
import io.farpage.linux.FileIo;
import io.farpage.linux.Memory;
import io.farpage.linux.PosixException;
import io.farpage.linux.ProcessFd;
import io.farpage.linux.Sockets;
import io.farpage.linux.ThreadScheduling;
import io.farpage.linux.UnixSockets;
import io.farpage.linux.uffd.MemoryFile;
import io.farpage.linux.uffd.Userfaultfd;
import io.farpage.pool.HugepagePolicy;
import io.farpage.pool.PagePool;
import io.farpage.pool.PoolConfig;
import io.farpage.pool.header.PoolHeader;
import io.farpage.pool.hugepages.HugepageSize;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.opentest4j.TestAbortedException;

/**
 * A guest that a killed process has left, and attempts to adopt it that fail. Keeper and coordinator are real. The
 * thread of the shard does not run: the test runs its duty cycles. Each pager that is made asks for the link to its
 * home once.
 */
final class AdoptionsTest {
    private static final int PAGE = 4096;
    private static final int PAGES = 64;
    private static final long BYTES = (long) PAGES * PAGE;
    private static final long POOL_BYTES = 1 << 20;
    private static final Duration DEADLINE = Duration.ofSeconds(2);
    private static final Incarnation HOME = new Incarnation(9);
    private static final Incarnation KILLED = new Incarnation(3);
    private static final Incarnation SUCCESSOR = new Incarnation(4);

    @TempDir
    private Path directory;

    private final AtomicInteger pagers = new AtomicInteger();
    private final ShardLoop loop = new ShardLoop(
            new Shard(List.of(), Arena.ofAuto().allocate(PoolHeader.BYTES), System::nanoTime, () -> {}),
            new ShardLoop.Options(
                    "shard", IdleStrategy.BLOCK, Duration.ZERO, OptionalInt.empty(), ThreadScheduling.ordinary()));
    private Keeper keeper;
    private Thread keeperThread;
    private TestCoordinator coordinator;
    private FailingRequests between;
    private CoordinatorClient client;
    private PagePool pool;
    private KeptMemory kept;
    private Spaces spaces;
    private long space;
    private Guests guests;
    private volatile int failures;

    @BeforeAll
    static void requireUserfaultfd() {
        userfaultfd().close();
    }

    @BeforeEach
    void leaveGuest() throws Exception {
        keeper = Keeper.listen(directory.resolve("keeper"));
        keeperThread = Thread.ofPlatform().start(keeper::run);
        coordinator = new TestCoordinator(directory.resolve("store"));
        coordinator.register("h", HOME, POOL_BYTES);
        space = coordinator
                .client()
                .createSpace(new SpaceRequest("vm", BYTES, OptionalInt.of(PAGE), Optional.of(List.of("h"))))
                .id();
        coordinator
                .client()
                .acknowledgeHosted(
                        "h",
                        new HostedAck(HOME, coordinator.client().hosted("h").revision(), List.of(), List.of()));
        register(KILLED, List.of());
        try (Spaces before = new Spaces(coordinator.client(), "g", KILLED)) {
            assertTrue(before.useExclusively(space, Claim.PLAIN).isPresent());
            keepGuest();
        }
        register(SUCCESSOR, List.of(space));
        coordinator
                .client()
                .acknowledgeHosted(
                        "h",
                        new HostedAck(
                                HOME,
                                coordinator.client().hosted("h").revision(),
                                List.of(new HostedAck.Fenced("g", KILLED)),
                                List.of()));
        pool = PagePool.open(PoolConfig.of("g", SUCCESSOR.value(), POOL_BYTES, POOL_BYTES)
                .withHugepages(HugepagePolicy.OFF, HugepageSize.TWO_MIB));
        kept = claim();
        between = new FailingRequests(coordinator.url());
        client = new CoordinatorClient(between.url(), Duration.ofSeconds(10));
        spaces = new Spaces(client, "g", SUCCESSOR);
        LocalNode self =
                new LocalNode("g", SUCCESSOR, pool, client, LinkKeys.generate("g", SUCCESSOR, Optional.empty()));
        PageTool pages = new PageTool(self, loop, peer -> link(peer, 0), 1, DEADLINE);
        loop.shard().doWork();
        guests = new Guests(
                self,
                spaces,
                new SpacePresence(pages),
                List.of(loop),
                this::link,
                Optional.empty(),
                new GuestOptions(
                        4,
                        DEADLINE,
                        DEADLINE,
                        Duration.ZERO,
                        new PinPolicy(PinPolicy.Mode.HOLD, Duration.ZERO),
                        new Seals(Seals.Options.none(directory)),
                        Drops.Options.DEFAULT,
                        new GuestKeeping("g", SUCCESSOR, Optional.of(kept)),
                        VictimMemory.NONE));
    }

    private PeerLink link(String peer, int shard) {
        if (pagers.incrementAndGet() <= failures) {
            throw new IllegalStateException("for a test");
        }
        return new PeerLink(peer);
    }

    private void register(Incarnation incarnation, List<Long> adopted) throws Exception {
        coordinator
                .client()
                .register(
                        "g",
                        new Registration(
                                        incarnation,
                                        "host",
                                        "127.0.0.1:7410",
                                        2,
                                        1L << 33,
                                        List.of(),
                                        new PoolInfo(POOL_BYTES, PAGE, Optional.of(KILLED)),
                                        List.of(TransportKind.TCP),
                                        Optional.empty(),
                                        Optional.empty(),
                                        Optional.empty(),
                                        Optional.empty())
                                .withAdopted(adopted));
    }

    private void keepGuest() throws Exception {
        try (KeptMemory agent = KeptMemory.claim(keeper.path())) {
            int self = (int) ProcessHandle.current().pid();
            VmmMemory vmm = new VmmMemory(
                    self,
                    List.of(new Slice(0, 0, PAGES, List.of(new GuestRegion(1L << 40, BYTES, 0)))),
                    List.of(userfaultfd()),
                    Backing.start(
                            "vm",
                            MemoryFile.create("ram", BYTES).fd(),
                            self,
                            new PinWatches(new PinPolicy(PinPolicy.Mode.HOLD, Duration.ZERO))));
            GuestRecord record = new GuestRecord(
                    "g",
                    KILLED,
                    space,
                    "vm",
                    "/run/vm",
                    self,
                    PAGE,
                    PAGES,
                    true,
                    PAGES,
                    1,
                    BYTES,
                    vmm.slices(),
                    Optional.empty(),
                    Optional.empty(),
                    Optional.empty(),
                    Optional.empty());
            KeptGuest guest =
                    KeptGuest.create(agent, record, (int) ProcessFd.open(self).value(), Memory::mlock);
            guest.knows(coordinator.client().extents(Long.toString(space)).orElseThrow());
            guest.hold(vmm);
            vmm.close();
        }
    }

    private static Userfaultfd userfaultfd() {
        try {
            return Userfaultfd.open(0);
        } catch (PosixException e) {
            throw new TestAbortedException(e.getMessage(), e);
        }
    }

    /** The keeper learns of the end of a connection in its own time. */
    private KeptMemory claim() {
        return Deadlines.await("the claim", Deadlines.SHORT)
                .ignoreExceptions()
                .until(() -> KeptMemory.claim(keeper.path()), _ -> true);
    }

    @AfterEach
    void close() throws InterruptedException {
        loop.start();
        guests.close();
        spaces.close();
        kept.close();
        loop.close();
        pool.close();
        client.close();
        between.close();
        coordinator.close();
        keeper.close();
        Deadlines.join("the end of the thread", Deadlines.SHORT, keeperThread);
    }

    /** The guest counts as adopted just before its pager is on the shard. */
    private void awaitServed() {
        Deadlines.await("the pager on the shard", Deadlines.SHORT)
                .until(() -> loop.shard().doWork() > 0);
    }

    /** The agent was killed amid the handoff: the keeper has the userfaultfd alone. */
    @Test
    void shouldKnowThatVmmHasEndedThoughKeeperNeverGotItsProcess() throws Exception {
        Errno errno = Errno.create();
        Path path = directory.resolve("vmm");
        int listening = Sockets.openUnix(errno);
        UnixSockets.bind(errno, listening, path);
        Sockets.listen(errno, listening, 1);
        Process vmm = UserfaultfdOwner.start(path);
        int connection = Sockets.accept(errno, listening, 0);
        int passed = UnixSockets.receive(errno, connection, Arena.ofAuto().allocate(1), 1)
                .descriptors()
                .getFirst();
        LeftGuest guest = LeftGuest.of(
                space + 1,
                new GuestKeeping("g", SUCCESSOR, Optional.of(kept)),
                new TreeMap<>(Map.of(KeptGuest.USERFAULTFD, passed)));
        assertTrue(guest.refusal().isPresent());
        assertFalse(guest.isOver());
        vmm.destroyForcibly().waitFor();
        assertTrue(guest.isOver());
        guest.close();
        FileIo.close(errno, connection);
        FileIo.close(errno, listening);
    }

    /** The homes may not have told a coordinator that is being rebuilt what this agent tells it. */
    @Test
    void shouldTellTheExtentsThatTheProcessBeforeKnew() {
        NodeReport.Left left = guests.left().getFirst();
        assertEquals(KILLED, left.incarnation());
        assertEquals(space, left.space().space().id());
        assertEquals(
                List.of("h"),
                left.space().extents().stream()
                        .flatMap(Extent::places)
                        .map(ExtentHome::node)
                        .toList());
    }

    /** The shard may take as long as it likes: nothing waits for it that would be given up and come true later. */
    @Test
    void shouldAdoptGuestOnceThoughShardDoesNotAnswer() {
        guests.adopt(() -> true);
        Deadlines.await("the adoption", Deadlines.SHORT).until(() -> guests.adoptions() == 1);
        assertEquals(List.of(), guests.left());
        assertEquals(1, pagers.get());
        assertEquals(0, guests.unserved());
        awaitServed();
        assertEquals(1, guests.traced().size());
    }

    /** What the coordinator cannot do now is not a refusal of the guest, whose threads would stay stopped. */
    @Test
    void shouldTryAgainWhenStoreOfCoordinatorFails() {
        between.refuse("/api/v1/spaces/" + space + "/attachments/g", 3);
        guests.adopt(() -> true);
        Deadlines.await("the adoption", Deadlines.SHORT).until(() -> guests.adoptions() == 1);
        assertEquals(0, between.refusals());
        assertEquals(1, pagers.get());
        awaitServed();
    }

    @Test
    void shouldTryAgainAndLeaveNothingOnShardWhenPagerCannotBeMade() {
        failures = 1;
        guests.adopt(() -> true);
        Deadlines.await("the pager that cannot be made", Deadlines.SHORT).until(() -> pagers.get() == 1);
        assertEquals(
                0,
                loop.shard().doWork(),
                "a pager of an attempt that failed would share the memory with that of the next");
        assertEquals(List.of(space), guests.adopted());
        Deadlines.await("the adoption", Deadlines.SHORT).until(() -> guests.adoptions() == 1);
        assertEquals(2, pagers.get());
        awaitServed();
    }

    @Test
    void shouldNotServeGuestTwiceWhenWhatFollowsItsStartFails() {
        AtomicInteger told = new AtomicInteger();
        guests.onChange(new GuestWatch() {
            @Override
            public void handoff(String name, HandoffPeer peer, Optional<String> refusal) {}

            @Override
            public void ended(String name, String reason, boolean saved) {}

            @Override
            public void adopted(String name, int pid, Optional<String> refusal) {
                told.incrementAndGet();
                throw new IllegalStateException("for a test");
            }
        });
        guests.adopt(() -> true);
        Deadlines.await("the report and the adoption", Deadlines.SHORT)
                .until(() -> told.get() == 1 && guests.adoptions() == 1);
        assertEquals(List.of(), guests.adopted(), "no other attempt follows");
        assertEquals(0, guests.unserved());
        assertEquals(1, pagers.get());
    }

    @Test
    void shouldLeaveGuestThatWaitsForAnotherAttemptToNextProcess() throws Exception {
        failures = Integer.MAX_VALUE;
        guests.adopt(() -> true);
        Deadlines.await("the pager that waits", Deadlines.SHORT).until(() -> pagers.get() == 1);
        assertEquals(Optional.empty(), guests.leave());
        kept.close();
        kept = claim();
        NavigableMap<Long, NavigableMap<Integer, Integer>> left =
                new GuestKeeping("g", new Incarnation(5), Optional.of(kept)).takeLeft();
        assertEquals(List.of(space), List.copyOf(left.keySet()));
        NavigableMap<Integer, Integer> parts = left.firstEntry().getValue();
        assertEquals(
                SUCCESSOR,
                KeptGuest.open(kept, "g", space, parts, Memory::mlock).record().incarnation());
        parts.values().forEach(fd -> FileIo.close(Errno.create(), fd));
    }
}
