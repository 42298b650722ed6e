package io.farpage.agent.data.coherence;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.coherence.SimulatedProcess.Worker;
import io.farpage.agent.data.pager.MessageWriter;
import io.farpage.agent.data.pager.PagerEnd;
import io.farpage.agent.data.pager.home.SpaceMap;
import io.farpage.agent.data.pager.memory.Pins;
import io.farpage.agent.data.pager.model.AgentKilled;
import io.farpage.agent.data.pager.page.GuestRegion;
import io.farpage.agent.data.pager.page.PageCensus;
import io.farpage.agent.data.pager.page.PagerOptions;
import io.farpage.agent.data.shard.MessageChannel;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** A member, and a home that the test plays. */
class MemberTest implements SimulatedProcess.Observer, Member.Node {
    private static final long SPACE = 7;
    private static final long SESSION = 3;
    private static final int PAGES = 20;
    private static final MemberId ID = new MemberId("a", 1, 5);
    private static final Duration FLUSH_DEADLINE = Duration.ofSeconds(60);

    private final SimulatedProcess process = new SimulatedProcess(PAGES, 2, this);
    private final SimulatedChannel channel = new SimulatedChannel("home", 1, 1000);
    private final List<Integer> signals = new ArrayList<>();
    private final List<PagerEnd> ends = new ArrayList<>();
    private long now = 1;
    private SpaceMap map = map(false);
    private final MemorySegment states = Arena.ofAuto().allocate(PAGES);
    private final MemorySegment messages = Arena.ofAuto().allocate(KeptMember.MESSAGES_BYTES, Long.BYTES);
    private Member member = member(new KeptMember(states, messages));

    private Member member(KeptMember kept) {
        return new Member(
                new MemberGuest(
                        ID,
                        SPACE,
                        "s",
                        PAGES,
                        process,
                        process,
                        List.of(new GuestRegion(SimulatedProcess.BASE, (long) PAGES * SimulatedProcess.PAGE, 0)),
                        Pins.NONE,
                        kept),
                () -> map,
                new PagerOptions(PagerOptions.MIN_LOCAL_PAGES, 1, 1, FLUSH_DEADLINE),
                () -> now,
                this,
                ends::add);
    }

    /** The agent is killed, and its successor has the process. */
    private void adopt() {
        KeptMember left = new KeptMember(states, messages);
        assertEquals(Optional.empty(), left.adopt(process));
        member = member(left);
    }

    /** The agent is killed at a call into the kernel, or as it returns from it. */
    private void killAtCall(int number) {
        AtomicInteger calls = new AtomicInteger();
        process.onCall = () -> {
            if (calls.incrementAndGet() == number) {
                throw new AgentKilled();
            }
        };
    }

    private static SpaceMap map(boolean isLost) {
        return new SpaceMap(
                "s",
                SPACE,
                PAGES,
                SimulatedProcess.PAGE,
                List.of(new SpaceMap.Extent(
                        0, PAGES, "home", 1, 0, isLost, List.of(), 1, Optional.empty(), SpaceMap.Pull.NONE)),
                isLost ? 2 : 1);
    }

    /** The home of the first two pages is lost, and the other pages are at another one. */
    private static SpaceMap partlyLost() {
        return new SpaceMap(
                "s",
                SPACE,
                PAGES,
                SimulatedProcess.PAGE,
                List.of(
                        new SpaceMap.Extent(
                                0, 2, "home", 1, 0, true, List.of(), 1, Optional.empty(), SpaceMap.Pull.NONE),
                        new SpaceMap.Extent(
                                2,
                                PAGES - 2,
                                "other",
                                1,
                                0,
                                false,
                                List.of(),
                                1,
                                Optional.empty(),
                                SpaceMap.Pull.NONE)),
                2);
    }

    @Override
    public List<? extends MessageChannel> channels() {
        return List.of(channel);
    }

    @Override
    public void closed(Member of) {}

    @Override
    public void loaded(SimulatedProcess by, int page, long value) {}

    @Override
    public void stored(SimulatedProcess by, int page, long value) {}

    @Override
    public void killed(SimulatedProcess by, int page) {
        signals.add(page);
    }

    private void say(MessageKind kind, long page, int payload) {
        MemorySegment message = Arena.ofAuto().allocate(CoherentMessage.HEADER_BYTES + payload, 8);
        CoherentMessage.write(message, kind, 0, SPACE, ID.attachment(), SESSION, page);
        member.onMessage(channel, message);
    }

    private void say(MessageKind kind, long page) {
        say(kind, page, kind == MessageKind.DATA_M || kind == MessageKind.DATA_S ? SimulatedProcess.PAGE : 0);
    }

    /** What the home was sent since the last call. */
    private List<String> heard() {
        member.doUrgentWork();
        member.doWork();
        List<String> all = new ArrayList<>();
        while (!channel.isEmpty()) {
            MemorySegment message = channel.deliver();
            all.add(CoherentMessage.kind(message) + " " + CoherentMessage.page(message));
        }
        return all;
    }

    private void admitted() {
        assertEquals(List.of("JOIN 0"), heard());
        say(MessageKind.ADMITTED, 0);
        assertEquals(List.of("SYNC_BEGIN 0", "SYNC 0", "SYNC_END 0"), heard());
    }

    /** A thread begins to load or store, or goes on if it was woken. */
    private void touch(int thread, int page, boolean isStore) {
        Worker worker = process.workers.get(thread);
        worker.page = page;
        worker.isStore = isStore;
        worker.value = 1;
        process.run(worker);
    }

    private void goOn(int thread) {
        Worker worker = process.workers.get(thread);
        assertFalse(worker.waits, worker.toString());
        process.run(worker);
    }

    private void own(int page) {
        touch(0, page, true);
        assertEquals(List.of("GETM " + page), heard());
        say(MessageKind.DATA_M, page);
        goOn(0);
    }

    @Test
    void shouldRequestAPageForWritingThatWasRead() {
        admitted();
        touch(0, 2, false);
        assertEquals(List.of("GETS 2"), heard());
        say(MessageKind.DATA_S, 2);
        goOn(0);
        touch(0, 2, true);
        assertEquals(List.of("GETM 2"), heard());
        say(MessageKind.GRANT_M, 2);
        goOn(0);
        assertTrue(process.isWritable(2));
        assertEquals(2, member.counters().faults());
    }

    @Test
    void shouldWaitForItsHomeBeforeItRequestsAnything() {
        touch(0, 1, true);
        assertEquals(List.of("JOIN 0"), heard());
        say(MessageKind.ADMITTED, 0);
        assertEquals(List.of("SYNC_BEGIN 0", "SYNC 0", "SYNC_END 0", "GETM 1"), heard());
        // It was told already that this session has begun.
        say(MessageKind.ADMITTED, 0);
        assertEquals(List.of(), heard());
    }

    @Test
    void shouldBeQuiescentOnceItHasAskedItsHome() {
        admitted();
        assertTrue(member.isQuiescent());
        touch(0, 2, false);
        assertEquals(List.of("GETS 2"), heard());
        assertTrue(member.isQuiescent());
        say(MessageKind.DATA_S, 2);
        goOn(0);
        assertEquals(List.of(), heard());
        assertTrue(member.isQuiescent());
    }

    @Test
    void shouldNotBeQuiescentWhileItKeepsAPageForAMoment() {
        admitted();
        for (int i = 0; i < HoldTimes.TOLERATED - 1; i++) {
            own(0);
            say(MessageKind.RECALL, 0);
            say(MessageKind.PUT_ACK, 0);
            say(MessageKind.INV, 0);
            heard();
        }
        own(0);
        say(MessageKind.RECALL, 0);
        assertEquals(List.of(), heard());
        assertFalse(member.isQuiescent());
    }

    @Test
    void shouldLookForFaultsInTheSecondDutyCycleAfterAPoll() {
        admitted();
        touch(0, 2, false);
        member.polled(false);
        assertEquals(List.of(), heard());
        assertEquals(List.of("GETS 2"), heard());
    }

    @Test
    void shouldKeepAPageForAMomentThatIsTakenAwayAgainAndAgain() {
        admitted();
        for (int i = 0; i < HoldTimes.TOLERATED - 1; i++) {
            own(0);
            say(MessageKind.RECALL, 0);
            assertEquals(List.of("PUT 0"), heard());
            say(MessageKind.PUT_ACK, 0);
            say(MessageKind.INV, 0);
            assertEquals(List.of("INV_ACK 0"), heard());
        }
        own(0);
        say(MessageKind.RECALL, 0);
        assertEquals(List.of(), heard());
        now += HoldTimes.FIRST_NANOS;
        assertEquals(List.of("PUT 0"), heard());
    }

    @Test
    void shouldSendPagesHomeWhenTheProcessHasEnded() {
        admitted();
        own(1);
        process.end();
        member.probe();
        assertEquals(List.of("PUT 1"), heard());
        assertEquals(List.of(), ends);
        say(MessageKind.PUT_ACK, 1);
        assertEquals(List.of("LEFT 0"), heard());
        assertEquals(List.of(new PagerEnd("its VMM has ended", true)), ends);
    }

    @Test
    void shouldEndUnsavedWhenHomeTakesNothingUntilTheDeadline() {
        admitted();
        own(1);
        process.end();
        member.probe();
        assertEquals(List.of("PUT 1"), heard());
        now += FLUSH_DEADLINE.toNanos() + 1;
        assertEquals(List.of(), heard());
        assertFalse(ends.getFirst().saved());
    }

    @Test
    void shouldServeProcessWhenItsAgentWasKilled() {
        admitted();
        own(1);
        touch(1, 2, false);
        assertEquals(List.of("GETS 2"), heard());
        adopt();
        admittedAgain();
        assertEquals(List.of("GETS 2"), heard(), "the thread has faulted again, and is not answered twice");
        say(MessageKind.DATA_S, 2);
        goOn(1);
        touch(0, 1, true);
        assertFalse(process.workers.get(0).waits);
        say(MessageKind.RECALL, 1);
        assertEquals(List.of("PUT 1"), heard());
    }

    /** Says again which pages it has. */
    private void admittedAgain() {
        assertEquals(List.of("JOIN 0"), heard());
        say(MessageKind.ADMITTED, 0);
        member.doWork();
        assertEquals(MessageKind.SYNC_BEGIN, CoherentMessage.kind(channel.deliver()));
        assertEquals(CoherentMessage.MODIFIED, CoherentMessage.held(channel.deliver(), 1));
        assertEquals(MessageKind.SYNC_END, CoherentMessage.kind(channel.deliver()));
    }

    @Test
    void shouldLetThreadStoreWhenAgentWasKilledBeforeItHadSentThePage() {
        admitted();
        own(1);
        killAtCall(2);
        assertThrows(AgentKilled.class, () -> say(MessageKind.RECALL, 1));
        process.onCall = () -> {};
        adopt();
        admittedAgain();
        touch(0, 1, true);
        assertTrue(process.workers.get(0).waits, "the page is still protected");
        assertEquals(List.of(), heard());
        goOn(0);
    }

    @ParameterizedTest
    @MethodSource("doings")
    void shouldEndMembershipWhenAgentWasKilledAfterARead(Consumer<MessageWriter> doing) {
        admitted();
        own(1);
        process.events.add(doing);
        killAtCall(2);
        assertThrows(AgentKilled.class, member::doWork);
        process.onCall = () -> {};
        adopt();
        assertEquals(List.of(), heard());
        assertNotNull(member.failure());
        touch(0, 1, false);
        assertEquals(List.of(1), signals);
    }

    @Test
    void shouldEndMembershipWhenAgentWasKilledBeforeItHadEndedIt() {
        admitted();
        own(1);
        process.events.add(
                writer -> writer.removal(SimulatedProcess.BASE, SimulatedProcess.BASE + SimulatedProcess.PAGE));
        member.doUrgentWork();
        assertNull(member.failure());
        adopt();
        assertEquals(List.of(), heard());
        assertEquals("its membership had ended before its agent was killed", member.failure());
    }

    @Test
    void shouldStayEndedWhenItsAgentIsKilledAfterwards() {
        admitted();
        own(1);
        member.fail("the test says so");
        adopt();
        assertEquals(List.of(), heard());
        touch(0, 1, false);
        heard();
        goOn(0);
        assertEquals(List.of(1), signals);
        process.end();
        member.probe();
        heard();
        assertFalse(ends.getFirst().saved());
    }

    private void leaveRequested(int pages) {
        for (int page = 0; page < pages; page++) {
            states.set(JAVA_BYTE, page, (byte) MemberPages.READING);
        }
        adopt();
        assertEquals(List.of("JOIN 0"), heard());
        say(MessageKind.ADMITTED, 0);
    }

    @Test
    void shouldRequestFewPagesAtOnceOfThoseThatWereRequested() {
        leaveRequested(Member.MAX_REQUESTS + 2);
        assertEquals(3 + Member.MAX_REQUESTS, heard().size());
        say(MessageKind.DATA_S, 0);
        assertEquals(List.of("GETS " + Member.MAX_REQUESTS), heard());
        say(MessageKind.DATA_S, 1);
        assertEquals(List.of("GETS " + (Member.MAX_REQUESTS + 1)), heard());
        say(MessageKind.DATA_S, 2);
        assertEquals(List.of(), heard());
    }

    @ParameterizedTest
    @CsvSource({"DATA_S", "LOST"})
    void shouldEndMembershipWhenPageIsGrantedBeforeItIsRequested(MessageKind kind) {
        leaveRequested(Member.MAX_REQUESTS + 1);
        heard();
        say(kind, Member.MAX_REQUESTS, kind == MessageKind.DATA_S ? SimulatedProcess.PAGE : 0);
        heard();
        assertNotNull(member.failure());
    }

    @Test
    void shouldSignalThreadsAgainThatTouchAPageLostBefore() {
        admitted();
        touch(0, 1, false);
        assertEquals(List.of("GETS 1"), heard());
        killAtCall(1);
        say(MessageKind.LOST, 1);
        assertThrows(AgentKilled.class, member::doWork);
        process.onCall = () -> {};
        adopt();
        heard();
        goOn(0);
        assertEquals(List.of(1), signals);
    }

    static Stream<Consumer<MessageWriter>> doings() {
        long base = SimulatedProcess.BASE;
        return Stream.of(
                writer -> writer.removal(base, base + SimulatedProcess.PAGE),
                writer -> writer.unmapping(base, base + SimulatedProcess.PAGE),
                writer -> writer.move(base, base + (1 << 20), SimulatedProcess.PAGE),
                writer -> writer.fork(9),
                writer -> writer.fault(base - SimulatedProcess.PAGE, true, false));
    }

    @ParameterizedTest
    @MethodSource("doings")
    void shouldSignalTheProcessWhenItChangesItsMemory(Consumer<MessageWriter> doing) {
        admitted();
        own(1);
        touch(1, 2, false);
        assertEquals(List.of("GETS 2"), heard());
        process.events.add(doing);
        heard();
        heard();
        assertNotNull(member.failure());
        goOn(1);
        touch(0, 1, false);
        assertEquals(List.of(2, 1), signals);
        assertEquals(List.of(), ends, "its process runs");
        process.end();
        member.probe();
        heard();
        assertFalse(ends.getFirst().saved());
    }

    @Test
    void shouldCloseTheDescriptorOfAFork() {
        process.events.add(writer -> writer.fork(9));
        heard();
        assertEquals(1, process.closedChildren);
    }

    @Test
    void shouldEndWhenAllMemoryIsUnmapped() {
        admitted();
        own(1);
        process.events.add(writer ->
                writer.unmapping(SimulatedProcess.BASE, SimulatedProcess.BASE + (long) PAGES * SimulatedProcess.PAGE));
        assertEquals(List.of("PUT 1"), heard());
        assertNull(member.failure());
    }

    @ParameterizedTest
    @CsvSource({
        "DATA_S, 0, 4096",
        "DATA_M, 3, 4096",
        "DATA_S, 2, 0",
        "GRANT_M, 2, 0",
        "INV, 1, 0",
        "RECALL, 0, 0",
        "PUT_ACK, 1, 0",
        "LOST, 1, 0",
        "DATA_S, 20, 4096",
        "DATA_S, -1, 4096",
        "GETS, 1, 0",
        "REFUSED, 0, 0",
    })
    void shouldSignalTheProcessWhenItsHomeSaysWhatItCannot(MessageKind kind, long page, int payload) {
        admitted();
        own(1);
        touch(1, 2, false);
        assertEquals(List.of("GETS 2"), heard());
        say(kind, page, payload);
        heard();
        assertNotNull(member.failure());
        goOn(1);
        assertEquals(List.of(2), signals);
    }

    @Test
    void shouldIgnoreWhatIsSaidToAnotherAttachment() {
        admitted();
        MemorySegment message = Arena.ofAuto().allocate(CoherentMessage.HEADER_BYTES, 8);
        CoherentMessage.write(message, MessageKind.RECALL, 0, SPACE, ID.attachment() + 1, SESSION, 0);
        member.onMessage(channel, message);
        assertNull(member.failure());
    }

    @Test
    void shouldSignalThreadsThatWaitForAHomeThatIsLost() {
        admitted();
        touch(0, 0, false);
        assertEquals(List.of("GETS 0"), heard());
        map = map(true);
        heard();
        goOn(0);
        touch(0, 3, true);
        heard();
        goOn(0);
        assertEquals(List.of(0, 3), signals);
        assertTrue(member.isCutOff());
    }

    @Test
    void shouldSignalThreadsThatTouchALostPage() {
        admitted();
        touch(0, 3, true);
        heard();
        say(MessageKind.LOST, 3);
        heard();
        goOn(0);
        assertEquals(List.of(3), signals);
        assertEquals(1, member.counters().lost().get());
        assertNull(member.failure());
    }

    @Test
    void shouldSignalAThreadThatWaitsForAPageToBeSentToALostHome() {
        admitted();
        own(0);
        say(MessageKind.RECALL, 0);
        assertEquals(List.of("PUT 0"), heard());
        touch(0, 0, true);
        heard();
        map = partlyLost();
        heard();
        goOn(0);
        assertEquals(List.of(0), signals);
        assertNull(member.failure());
    }

    /** Its home takes no page, so there is nothing to wait for. */
    @Test
    void shouldEndAtOnceWhenTheHomeOfChangedPagesIsLost() {
        admitted();
        own(0);
        say(MessageKind.RECALL, 0);
        assertEquals(List.of("PUT 0"), heard());
        own(1);
        map = partlyLost();
        process.end();
        member.probe();
        heard();
        assertEquals(1, ends.size());
        assertFalse(ends.getFirst().saved());
        assertTrue(ends.getFirst().reason().contains("lost"), ends.toString());
        assertEquals(2, member.counters().lost().get());
    }

    @Test
    void shouldInstallAPageLaterWhenTheHostHasNoMemory() {
        admitted();
        touch(0, 1, true);
        assertEquals(List.of("GETM 1"), heard());
        process.isShort = true;
        say(MessageKind.DATA_M, 1);
        say(MessageKind.RECALL, 1);
        assertEquals(List.of(), heard());
        assertTrue(member.needsPolling());
        process.isShort = false;
        assertEquals(List.of(), heard());
        goOn(0);
        now += HoldTimes.FIRST_NANOS;
        assertEquals(List.of("PUT 1"), heard());
    }

    @Test
    void shouldCountWherePagesAre() {
        admitted();
        own(1);
        touch(0, 2, false);
        heard();
        say(MessageKind.DATA_S, 2);
        PageCensus census = new PageCensus(PAGES);
        member.count(census);
        assertEquals(100, census.percent(PageCensus.Where.DIRTY, 1));
        assertEquals(100, census.percent(PageCensus.Where.RESIDENT, 1));
        assertEquals(100, census.percent(PageCensus.Where.RESIDENT, 2));
        assertEquals(0, census.percent(PageCensus.Where.DIRTY, 2));
        assertEquals(100, census.percent(PageCensus.Where.REMOTE, 3));
        assertEquals(2, member.status().residentPages());
        assertEquals(1, member.status().dirtyPages());
    }
}
