package io.farpage.agent.data.coherence;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.coherence.SimulatedProcess.Worker;
import io.farpage.agent.data.pager.home.SpaceMap;
import io.farpage.agent.data.pager.memory.Pins;
import io.farpage.agent.data.pager.page.GuestRegion;
import io.farpage.agent.data.pager.page.PagerOptions;
import io.farpage.agent.data.shard.MessageChannel;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A member whose process reads one page after the other; the test plays the home. */
class ReadaheadTest implements Member.Node, SimulatedProcess.Observer {
    private static final long SPACE = 7;
    private static final long SESSION = 3;
    private static final MemberId ID = new MemberId("a", 1, 5);
    private static final int PAGES = 32;

    private final SimulatedProcess process = new SimulatedProcess(PAGES, 2, this);
    private final SimulatedChannel channel = new SimulatedChannel("home", 1, 1000);
    private final SpaceMap map = new SpaceMap(
            "s",
            SPACE,
            PAGES,
            SimulatedProcess.PAGE,
            List.of(new SpaceMap.Extent(
                    0, PAGES, "home", 1, 0, false, List.of(), 1, Optional.empty(), SpaceMap.Pull.NONE)),
            1);
    private final Member member = new Member(
            new MemberGuest(
                    ID,
                    SPACE,
                    "s",
                    PAGES,
                    process,
                    process,
                    List.of(new GuestRegion(SimulatedProcess.BASE, (long) PAGES * SimulatedProcess.PAGE, 0)),
                    Pins.NONE,
                    KeptMember.inMemory(PAGES)),
            () -> map,
            new PagerOptions(PagerOptions.MIN_LOCAL_PAGES, 32, 1, Duration.ofSeconds(1)),
            () -> 1,
            this,
            _ -> {});

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
    public void killed(SimulatedProcess by, int page) {}

    private void say(MessageKind kind, long page) {
        boolean hasBytes = kind == MessageKind.DATA_S;
        MemorySegment message = Arena.ofAuto()
                .allocate(hasBytes ? CoherentMessage.PAGE_MESSAGE_BYTES : CoherentMessage.HEADER_BYTES, 8);
        CoherentMessage.write(message, kind, 0, SPACE, ID.attachment(), SESSION, page);
        member.onMessage(channel, message);
    }

    private List<String> heard() {
        member.doUrgentWork();
        member.doWork();
        List<String> all = new ArrayList<>();
        while (!channel.isEmpty()) {
            MemorySegment message = channel.deliver();
            all.add(CoherentMessage.kind(message)
                    + (CoherentMessage.isIfFree(message) ? "? " : " ")
                    + CoherentMessage.page(message));
        }
        return all;
    }

    private Worker load(int thread, int page) {
        Worker worker = process.workers.get(thread);
        worker.page = page;
        process.run(worker);
        return worker;
    }

    /** The process has read page 0, and reads page 1. */
    @BeforeEach
    void readTwoPages() {
        heard();
        say(MessageKind.ADMITTED, 0);
        heard();
        load(0, 0);
        assertEquals(List.of("GETS 0"), heard());
        say(MessageKind.DATA_S, 0);
        load(0, 1);
        assertEquals(List.of("GETS 1", "GETS? 2", "GETS? 3", "GETS? 4"), heard());
    }

    @Test
    void shouldRequestMorePagesAsTheProcessGoesOn() {
        for (int page = 1; page <= 4; page++) {
            say(MessageKind.DATA_S, page);
        }
        load(0, 2);
        assertEquals(List.of(), heard());
        load(0, 5);
        assertEquals(9 - 1, heard().size(), "a window of eight");
        assertEquals(3 + 7, member.counters().prefetched().get());
        assertEquals(3, member.counters().faults());
    }

    @Test
    void shouldRequestAPageThatWasDeclinedOnceAThreadWantsIt() {
        say(MessageKind.DECLINED, 2);
        assertEquals(List.of(), heard());
        Worker second = load(1, 3);
        assertEquals(List.of(), heard(), "the answer is awaited");
        say(MessageKind.DECLINED, 3);
        assertEquals(List.of("GETS 3"), heard());
        say(MessageKind.DATA_S, 3);
        assertFalse(second.waits);
        load(1, 2);
        assertTrue(heard().contains("GETS 2"));
        assertNull(member.failure());
    }

    @Test
    void shouldForgetWhatNoThreadWaitsForWhenASessionEnds() {
        load(1, 3);
        heard();
        MemorySegment message = Arena.ofAuto().allocate(CoherentMessage.HEADER_BYTES, 8);
        CoherentMessage.write(message, MessageKind.ADMITTED, 0, SPACE, ID.attachment(), SESSION + 1, 0);
        member.onMessage(channel, message);
        assertEquals(List.of("SYNC_BEGIN 0", "SYNC 0", "SYNC_END 0", "GETS 1", "GETS 3"), heard());
    }

    @Test
    void shouldEndWhenAPageIsDeclinedThatWasRequestedForAThread() {
        say(MessageKind.DECLINED, 1);
        assertEquals(
                "node home says DECLINED of page 1: it was not requested if it is free",
                String.valueOf(member.failure()));
    }
}
