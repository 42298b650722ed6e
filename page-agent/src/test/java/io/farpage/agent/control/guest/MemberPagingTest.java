package io.farpage.agent.control.guest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.control.LinkKeys;
import io.farpage.agent.control.LocalNode;
import io.farpage.agent.control.TestCoordinator;
import io.farpage.agent.control.page.PageTool;
import io.farpage.agent.control.page.SpacePresence;
import io.farpage.agent.control.pins.PinPolicy;
import io.farpage.agent.control.seal.Seals;
import io.farpage.agent.control.space.Drops;
import io.farpage.agent.control.space.Spaces;
import io.farpage.agent.data.coherence.CoherentMember;
import io.farpage.agent.data.coherence.CoherentMembers;
import io.farpage.agent.data.coherence.MemberGuest;
import io.farpage.agent.data.pager.PagerEnd;
import io.farpage.agent.data.pager.PagerStatus;
import io.farpage.agent.data.pager.home.SpaceMap;
import io.farpage.agent.data.pager.memory.PagerCounters;
import io.farpage.agent.data.pager.page.PageCensus;
import io.farpage.agent.data.pager.page.PagerOptions;
import io.farpage.agent.data.pager.page.VictimMemory;
import io.farpage.agent.data.shard.IdleStrategy;
import io.farpage.agent.data.shard.PeerLink;
import io.farpage.agent.data.shard.Shard;
import io.farpage.agent.data.shard.ShardLoop;
import io.farpage.coordinator.model.AttachMode;
import io.farpage.coordinator.model.Attachment;
import io.farpage.coordinator.model.HostedAck;
import io.farpage.coordinator.model.Incarnation;
import io.farpage.coordinator.model.Space;
import io.farpage.coordinator.model.SpaceRequest;
import io.farpage.it.deadlines.Deadlines;
import io.farpage.linux.Errno;
import io.farpage.linux.FileIo;
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
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The guest of a coherent space, from the handoff to the detachment. Coordinator, shard, socket, userfaultfd and memory
 * file are real, and this process is the VMM; what the member does on the shard is recorded.
 */
final class MemberPagingTest {
    private static final Incarnation SELF = new Incarnation(7);
    private static final int O_DIRECT = System.getProperty("os.arch", "").equals("aarch64") ? 0x10000 : 0x4000;
    private static final int PAGE = 4096;
    private static final int PAGES = 512;
    private static final long BASE = 1L << 40;
    private static final long POOL_BYTES = 64L << 20;
    private static final Duration DEADLINE = Duration.ofSeconds(10);

    @TempDir
    private Path directory = Path.of("");

    private final Errno errno = Errno.create();
    private final ShardLoop loop = new ShardLoop(
            new Shard(List.of(), Arena.ofAuto().allocate(PoolHeader.BYTES), System::nanoTime, () -> {}),
            new ShardLoop.Options(
                    "shard", IdleStrategy.BLOCK, Duration.ZERO, OptionalInt.empty(), ThreadScheduling.ordinary()));
    private final List<Integer> vmms = new CopyOnWriteArrayList<>();
    private final CompletableFuture<RecordedMember> made = new CompletableFuture<>();
    private TestCoordinator coordinator;
    private PagePool pool;
    private Spaces spaces;
    private Guests guests;

    @BeforeEach
    void makeACoherentSpace() throws Exception {
        coordinator = new TestCoordinator(directory.resolve("store"));
        coordinator.register("a", SELF, POOL_BYTES);
        coordinator
                .client()
                .createSpace(
                        new SpaceRequest("shared", (long) PAGES * PAGE, OptionalInt.of(PAGE), Optional.of(List.of("a")))
                                .asCoherent());
        long revision = coordinator.client().hosted("a").revision();
        coordinator.client().acknowledgeHosted("a", new HostedAck(SELF, revision, List.of(), List.of()));
        pool = PagePool.open(PoolConfig.of("a", SELF.value(), POOL_BYTES, 1 << 20)
                .withHugepages(HugepagePolicy.OFF, HugepageSize.TWO_MIB));
        spaces = new Spaces(coordinator.client(), "a", SELF);
        spaces.start((_, _) -> true);
        guests = guests(Optional.of(this::make));
        loop.start();
    }

    @AfterEach
    void close() {
        vmms.forEach(fd -> FileIo.close(errno, fd));
        guests.close();
        spaces.close();
        loop.close();
        pool.close();
        coordinator.close();
    }

    private Guests guests(Optional<CoherentMembers> members) {
        LocalNode self =
                new LocalNode("a", SELF, pool, coordinator.client(), LinkKeys.generate("a", SELF, Optional.empty()));
        return new Guests(
                self,
                spaces,
                new SpacePresence(new PageTool(self, loop, PeerLink::new, 1, DEADLINE)),
                List.of(loop),
                (peer, _) -> new PeerLink(peer),
                members,
                new GuestOptions(
                        4,
                        DEADLINE,
                        DEADLINE,
                        Duration.ofMillis(1),
                        new PinPolicy(PinPolicy.Mode.HOLD, Duration.ZERO),
                        new Seals(Seals.Options.none(directory)),
                        Drops.Options.DEFAULT,
                        new GuestKeeping("a", SELF, Optional.empty()),
                        VictimMemory.NONE));
    }

    private void attach(Guests to) throws Exception {
        to.attach(
                "shared",
                new GuestRequest(
                        directory.resolve("socket").toString(),
                        OptionalLong.empty(),
                        OptionalInt.empty(),
                        Optional.empty(),
                        OptionalInt.empty(),
                        OptionalLong.of(64L * PAGE),
                        OptionalInt.empty(),
                        Optional.empty(),
                        Optional.empty(),
                        Optional.empty(),
                        Optional.empty(),
                        Optional.empty(),
                        Optional.empty(),
                        Optional.empty(),
                        Optional.empty(),
                        Optional.empty(),
                        Optional.empty()));
    }

    private CoherentMember make(
            MemberGuest guest, Supplier<SpaceMap> map, PagerOptions options, Consumer<PagerEnd> ended) {
        RecordedMember member = new RecordedMember(guest, options, ended);
        made.complete(member);
        return member;
    }

    /** Runs on the shard, and does what the test says. */
    private static final class RecordedMember implements CoherentMember {
        private final MemberGuest guest;
        private final PagerOptions options;
        private final Consumer<PagerEnd> ended;
        private final PagerCounters counters = new PagerCounters();
        private final CompletableFuture<Thread> served = new CompletableFuture<>();
        private final CompletableFuture<String> failed = new CompletableFuture<>();
        private final CompletableFuture<Void> closed = new CompletableFuture<>();
        private volatile int limit;
        private final CompletableFuture<Void> probed = new CompletableFuture<>();

        private RecordedMember(MemberGuest guest, PagerOptions options, Consumer<PagerEnd> ended) {
            this.guest = guest;
            this.options = options;
            this.ended = ended;
            limit = options.localPages();
        }

        @Override
        public PagerCounters counters() {
            return counters;
        }

        @Override
        public PagerStatus status() {
            return new PagerStatus(PAGES, PAGE, 3, 3, limit, PAGES - 3, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0);
        }

        @Override
        public void count(PageCensus census) {}

        @Override
        public void resize(int localPages) {
            limit = localPages;
        }

        @Override
        public void probe() {
            probed.complete(null);
        }

        @Override
        public void fail(String reason) {
            failed.complete(reason);
            ended.accept(new PagerEnd(reason, false));
        }

        @Override
        public boolean isCutOff() {
            return true;
        }

        @Override
        public void close() {
            closed.complete(null);
        }

        @Override
        public int doWork() {
            served.complete(Thread.currentThread());
            return 0;
        }
    }

    private static String region(long size, int pageSize) {
        return "{\"base_host_virt_addr\":%d,\"size\":%d,\"offset\":0,\"page_size\":%d}".formatted(BASE, size, pageSize);
    }

    /** This process hands over its memory. */
    private int handOff(String json, List<Integer> descriptors) {
        int fd = Sockets.openUnix(errno);
        vmms.add(fd);
        assertEquals(0, UnixSockets.connect(errno, fd, directory.resolve("socket")));
        UnixSockets.send(errno, fd, json.getBytes(StandardCharsets.UTF_8), descriptors);
        descriptors.forEach(sent -> FileIo.close(errno, sent));
        return fd;
    }

    /** What the agent answered to a VMM until it closed the connection. */
    private String answer(int vmm) {
        MemorySegment bytes = Arena.ofAuto().allocate(512);
        long count = UnixSockets.receive(errno, vmm, bytes, 1).bytes();
        return new String(bytes.asSlice(0, count).toArray(ValueLayout.JAVA_BYTE), StandardCharsets.UTF_8);
    }

    private static int userfaultfd() {
        try {
            return Userfaultfd.open(0).fd();
        } catch (RuntimeException e) {
            Assumptions.abort("no userfaultfd: " + e.getMessage());
            throw e;
        }
    }

    private static int file() {
        return MemoryFile.create("vm", (long) PAGES * PAGE).fd();
    }

    private RecordedMember serve() throws Exception {
        attach(guests);
        handOff("[" + region((long) PAGES * PAGE, PAGE) + "]", List.of(userfaultfd(), file()));
        Deadlines.await("the handoff", Deadlines.SHORT).until(made::isDone);
        RecordedMember member = made.join();
        Deadlines.await("a duty cycle of the member", Deadlines.SHORT).until(member.served::isDone);
        return member;
    }

    private List<Attachment> attachments() throws Exception {
        return coordinator.client().attachments("shared");
    }

    private Space space() throws Exception {
        return coordinator.client().space("shared").orElseThrow();
    }

    @Test
    void shouldServeTheGuestByAMemberOnTheShard() throws Exception {
        RecordedMember member = serve();
        Attachment attachment = attachments().getFirst();
        assertEquals(AttachMode.MEMBER, attachment.mode());
        assertEquals("a", member.guest.id().node());
        assertEquals(SELF.value(), member.guest.id().incarnation());
        assertEquals(attachment.id(), member.guest.id().attachment(), "homes know it by this");
        assertEquals(PAGES, member.guest.pages());
        assertEquals(BASE, member.guest.regions().getFirst().hostAddress());
        assertEquals(64, member.options.localPages());
        assertEquals(DEADLINE, member.options.flushDeadline());
        assertEquals("shard", member.served.join().getName());
        Deadlines.await("the guest is attached", Deadlines.SHORT)
                .until(() -> guests.status("shared").state().equals("attached"));
        guests.resize("shared", 128L * PAGE);
        assertEquals(128, guests.status("shared").where().localLimitPages());
        Deadlines.await("a look at the VMM", Deadlines.SHORT).until(member.probed::isDone);
    }

    @Test
    void shouldDetachInOrderWhenTheMemberHasLeft() throws Exception {
        RecordedMember member = serve();
        member.ended.accept(new PagerEnd("the VMM has ended", true));
        Deadlines.await("the end of the guest", Deadlines.SHORT)
                .until(() -> guests.status("shared").state().equals("ended"));
        Deadlines.await("the detachment", Deadlines.SHORT)
                .until(() -> attachments().isEmpty());
        assertEquals(Optional.empty(), space().torn());
        assertTrue(member.closed.isDone());
    }

    @Test
    void shouldTearTheSpaceWhenTheMemberCouldNotFlush() throws Exception {
        RecordedMember member = serve();
        member.ended.accept(new PagerEnd("3 pages did not reach their home", false));
        Deadlines.await("the detachment", Deadlines.SHORT)
                .until(() -> attachments().isEmpty());
        assertEquals(
                "3 pages did not reach their home", space().torn().orElseThrow().reason());
    }

    @Test
    void shouldRefuseWhatAMemberCannotServeByName() throws Exception {
        attach(guests);
        long bytes = (long) PAGES * PAGE;
        int huge = handOff("[" + region(bytes, 2 << 20) + "]", List.of(userfaultfd(), file()));
        assertRefused(huge, "the VMM's memory has pages of 2097152 bytes");
        int unbacked = handOff("[" + region(bytes, PAGE) + "]", List.of(userfaultfd()));
        assertRefused(unbacked, "no memory file came with the userfaultfd");
        String half = "{\"base_host_virt_addr\":%d,\"size\":%d,\"offset\":%d,\"page_size\":4096,\"userfaultfd\":%d}";
        int two = handOff(
                "[%s,%s]"
                        .formatted(
                                half.formatted(BASE, bytes / 2, 0, 0),
                                half.formatted(BASE + bytes, bytes / 2, bytes / 2, 1)),
                List.of(userfaultfd(), userfaultfd(), file()));
        assertRefused(two, "names 2 userfaultfds");
        assertFalse(made.isDone());
        assertEquals("waiting", guests.status("shared").state());
    }

    private void assertRefused(int vmm, String why) {
        String answer = answer(vmm);
        assertTrue(answer.contains("space 'shared' is coherent"), answer);
        assertTrue(answer.contains(why), answer);
    }

    @Test
    void shouldEndTheMemberWhenTheVmmMayPinItsMemory() throws Exception {
        RecordedMember member = serve();
        Path disk = Files.write(directory.resolve("disk"), new byte[PAGE]);
        int direct = FileIo.open(errno, disk.toString(), O_DIRECT);
        Assumptions.assumeTrue(direct >= 0, () -> "no O_DIRECT in " + directory);
        vmms.add(direct);
        Deadlines.await("the end of the member", Deadlines.SHORT).until(member.failed::isDone);
        assertTrue(member.failed.join().contains("cannot be that of a coherent space"), member.failed::join);
        Deadlines.await("the detachment", Deadlines.SHORT)
                .until(() -> attachments().isEmpty());
        assertTrue(space().torn().isPresent());
    }

    @Test
    void shouldNeitherParkNorFreezeAMember() throws Exception {
        serve();
        Deadlines.await("the guest is attached", Deadlines.SHORT)
                .until(() -> guests.status("shared").state().equals("attached"));
        for (GuestException refused : List.of(
                assertThrows(
                        GuestException.class,
                        () -> guests.park("shared", new ParkRequest(OptionalLong.empty(), OptionalLong.empty()))),
                assertThrows(GuestException.class, () -> guests.snapshot("shared", new SnapshotName("monday"))))) {
            assertTrue(
                    String.valueOf(refused.getMessage()).contains("space 'shared' is coherent"), refused::getMessage);
        }
        assertFalse(guests.leave().isEmpty(), "no process can go on with a member");
    }

    @Test
    void shouldRefuseACoherentSpaceWithoutMembers() throws Exception {
        GuestException refused = assertThrows(GuestException.class, () -> attach(guests(Optional.empty())));
        assertTrue(
                String.valueOf(refused.getMessage()).contains("this agent serves no coherent spaces"),
                refused::getMessage);
        Deadlines.await("the detachment", Deadlines.SHORT)
                .until(() -> attachments().isEmpty());
        assertEquals(Optional.empty(), space().torn());
    }
}
