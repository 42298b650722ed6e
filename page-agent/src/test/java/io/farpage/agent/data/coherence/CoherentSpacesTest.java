package io.farpage.agent.data.coherence;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.coherence.SimulatedProcess.Worker;
import io.farpage.agent.data.pager.PagerEnd;
import io.farpage.agent.data.pager.home.SpaceMap;
import io.farpage.agent.data.pager.memory.Pins;
import io.farpage.agent.data.pager.page.GuestRegion;
import io.farpage.agent.data.pager.page.PagerOptions;
import io.farpage.agent.data.shard.DutyCycle;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** A node that is a home and a member of the same space, and its messages with another node. */
class CoherentSpacesTest implements CoherentSpaces.Home, SimulatedProcess.Observer {
    private static final long SPACE = 7;
    private static final int PAGES = 4;
    private static final long OFFSET = 2 * 4096;
    private static final MemberId OWN = new MemberId("own", 1, 5);
    private static final MemberId OTHER = new MemberId("other", 9, 6);

    private final MemorySegment exported = Arena.ofAuto().allocate(8 * 4096L, 8);
    private final Deque<Runnable> tasks = new ArrayDeque<>();
    private final List<DutyCycle> cycles = new ArrayList<>();
    private final List<String> opened = new ArrayList<>();
    private final List<Long> loads = new ArrayList<>();
    private final List<PagerEnd> ends = new ArrayList<>();
    private final SimulatedProcess process = new SimulatedProcess(PAGES, 1, this);
    private final SimulatedChannel channel = new SimulatedChannel("other", 9, 100);
    private final CoherentSpaces spaces = new CoherentSpaces("own", 1, exported, this, () -> 1);

    @Override
    public void run(Runnable task) {
        tasks.add(task);
    }

    @Override
    public void add(DutyCycle cycle) {
        cycles.add(cycle);
    }

    @Override
    public void open(String peer) {
        opened.add(peer);
    }

    @Override
    public void loaded(SimulatedProcess by, int page, long value) {
        loads.add(value);
    }

    @Override
    public void stored(SimulatedProcess by, int page, long value) {}

    @Override
    public void killed(SimulatedProcess by, int page) {}

    private static HostedExtent extent(boolean torn, MemberId... members) {
        return HostedExtent.of(SPACE, 0, PAGES, OFFSET, torn, Set.of(members));
    }

    private CompletableFuture<Void> hosting(HostedExtent... all) {
        CompletableFuture<Void> applied = spaces.host(List.of(all));
        runTasks();
        return applied;
    }

    private void host(HostedExtent... all) {
        assertFalse(hosting(all).isCompletedExceptionally());
    }

    private void runTasks() {
        while (!tasks.isEmpty()) {
            tasks.remove().run();
        }
    }

    private CoherentMember makeMember() {
        SpaceMap map = new SpaceMap(
                "s",
                SPACE,
                PAGES,
                4096,
                List.of(new SpaceMap.Extent(
                        0, PAGES, "own", 3, OFFSET, false, List.of(), 1, Optional.empty(), SpaceMap.Pull.NONE)),
                1);
        CoherentMember member = spaces.make(
                new MemberGuest(
                        OWN,
                        SPACE,
                        "s",
                        PAGES,
                        process,
                        process,
                        List.of(new GuestRegion(SimulatedProcess.BASE, PAGES * 4096L, 0)),
                        Pins.NONE,
                        new KeptMember(
                                Arena.ofAuto().allocate(PAGES, 8),
                                Arena.ofAuto().allocate(KeptMember.MESSAGES_BYTES, 8))),
                () -> map,
                new PagerOptions(PagerOptions.MIN_LOCAL_PAGES, 1, 1, Duration.ofSeconds(1)),
                ends::add);
        runTasks();
        return member;
    }

    private void cycle(CoherentMember member) {
        for (int i = 0; i < 10; i++) {
            member.doUrgentWork();
            member.doWork();
            spaces.doUrgentWork();
        }
    }

    private void say(MessageKind kind, long page) {
        MemorySegment message = Arena.ofAuto().allocate(CoherentMessage.HEADER_BYTES, 8);
        spaces.doWork();
        CoherentMessage.write(message, kind, 0, SPACE, OTHER.attachment(), channel.session(), page);
        CoherentMessage.setLayout(message, CoherentMessage.layout(0, 0, PAGES));
        spaces.onMessage(channel, message);
    }

    /** What the other node was sent since the last call. */
    private List<MessageKind> heard() {
        spaces.doUrgentWork();
        List<MessageKind> all = new ArrayList<>();
        while (!channel.isEmpty()) {
            all.add(CoherentMessage.kind(channel.deliver()));
        }
        return all;
    }

    private DirectoryStatus status() {
        CompletableFuture<List<DirectoryStatus>> status = spaces.status();
        runTasks();
        return status.join().getFirst();
    }

    @Test
    void shouldServeAMemberOnTheNodeThatIsTheHome() {
        exported.set(java.lang.foreign.ValueLayout.JAVA_LONG, OFFSET + 4096, 77);
        assertTrue(hosting(extent(false, OWN)).isDone());
        CoherentMember member = makeMember();
        assertEquals(List.of(spaces), cycles, "once");
        assertEquals(List.of(), opened, "no messages with itself go over a link");
        Worker worker = process.workers.getFirst();
        worker.page = 1;
        process.run(worker);
        cycle(member);
        assertFalse(worker.waits);
        process.run(worker);
        assertEquals(List.of(77L), loads);
        assertEquals(1, status().requests());

        process.end();
        member.probe();
        cycle(member);
        assertTrue(ends.getFirst().saved());
        member.close();
        runTasks();
    }

    @Test
    void shouldExchangeMessagesWithMembersOfOtherNodes() {
        spaces.onOpened(channel);
        host(extent(false, OWN, OTHER));
        assertEquals(List.of(), opened, "members open channels");
        assertEquals(List.of(MessageKind.ADMITTED), heard());
        say(MessageKind.SYNC_BEGIN, 0);
        say(MessageKind.SYNC_END, 0);
        say(MessageKind.GETS, 2);
        assertEquals(List.of(), heard(), "its own member was not heard");
        cycle(makeMember());
        assertEquals(List.of(MessageKind.DATA_S), heard());
    }

    @Test
    void shouldCutAMemberOffBeforeItSaysSo() {
        spaces.onOpened(channel);
        host(extent(false, OTHER));
        assertEquals(List.of(MessageKind.ADMITTED), heard());
        say(MessageKind.SYNC_BEGIN, 0);
        say(MessageKind.SYNC_END, 0);
        CompletableFuture<Void> applied = spaces.host(List.of(extent(true, OWN)));
        assertFalse(applied.isDone(), "the shard has not applied it");
        runTasks();
        assertTrue(applied.isDone());
        say(MessageKind.GETS, 2);
        assertEquals(List.of(), heard());
    }

    @Test
    void shouldBeginAnewWhenASpaceHadNoMembers() {
        spaces.onOpened(channel);
        host(extent(false, OTHER));
        say(MessageKind.SYNC_BEGIN, 0);
        say(MessageKind.SYNC_END, 0);
        say(MessageKind.GETM, 2);
        host(extent(true));
        CompletableFuture<List<DirectoryStatus>> none = spaces.status();
        runTasks();
        assertEquals(List.of(), none.join());
        // Attached with --force: what the home has counts.
        host(extent(false, OTHER));
        assertEquals(0, status().lostPages());
        host();
        CompletableFuture<List<DirectoryStatus>> after = spaces.status();
        runTasks();
        assertEquals(List.of(), after.join());
    }

    @Test
    void shouldIgnoreMessagesAboutSpacesThatItDoesNotHave() {
        spaces.onOpened(channel);
        say(MessageKind.GETS, 2);
        say(MessageKind.INV, 2);
        assertEquals(List.of(), heard());
    }

    @Test
    void shouldFailTheLinkOfAPeerWhoseMessagesAreOfNoKind() {
        MemorySegment message = Arena.ofAuto().allocate(CoherentMessage.HEADER_BYTES, 8);
        message.fill((byte) -1);
        assertThrows(IllegalArgumentException.class, () -> spaces.onMessage(channel, message));
    }

    @Test
    void shouldSayWhyExtentsAreNotServed() {
        CompletableFuture<Void> applied = hosting(HostedExtent.of(SPACE, 0, 100, OFFSET, false, Set.of(OTHER)));
        assertTrue(applied.isCompletedExceptionally(), "they are not in the pool");
    }
}
