package io.farpage.agent.data.coherence;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.shard.DutyCycle;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** A node that is the second home of a space, or the first beside a second; the test plays the other nodes. */
class SecondHomeTest {
    private static final long SPACE = 7;
    private static final int PAGES = 4;
    private static final int OFFSET = 2 * 4096;
    private static final byte FILLED = 42;
    private static final MemberId A = new MemberId("a", 1, 5);
    private static final MemberId B = new MemberId("b", 1, 6);

    private final MemorySegment exported = Arena.ofAuto().allocate(8 * 4096L, 8);
    private final List<String> opened = new ArrayList<>();
    private final CoherentSpaces spaces = new CoherentSpaces("own", 1, exported, new Inline(), () -> 0);
    private final SimulatedChannel other = new SimulatedChannel("other", 1, 1000);
    private final SimulatedChannel a = new SimulatedChannel("a", 1, 1000);

    /** A shard that runs each task at once. */
    private final class Inline implements CoherentSpaces.Home {
        @Override
        public void run(Runnable task) {
            task.run();
        }

        @Override
        public void add(DutyCycle cycle) {}

        @Override
        public void open(String peer) {
            opened.add(peer);
        }
    }

    private void host(Optional<String> directory, Optional<String> second, boolean isMoved, MemberId... members) {
        var applied = spaces.host(
                List.of(new HostedExtent(SPACE, 0, PAGES, OFFSET, false, Set.of(members), directory, second, isMoved)));
        assertTrue(applied.isDone() && !applied.isCompletedExceptionally());
    }

    private void say(SimulatedChannel by, MessageKind kind, long attachment, long session, long page) {
        boolean hasBytes = kind == MessageKind.MIRROR || kind == MessageKind.PUT;
        MemorySegment message = Arena.ofAuto()
                .allocate(hasBytes ? CoherentMessage.PAGE_MESSAGE_BYTES : CoherentMessage.HEADER_BYTES, 8);
        CoherentMessage.write(message, kind, 0, SPACE, attachment, session, page);
        CoherentMessage.setLayout(message, CoherentMessage.layout(0, 0, PAGES));
        if (hasBytes) {
            CoherentMessage.payload(message).fill(FILLED);
        }
        spaces.onMessage(by, message);
    }

    /** What a member says. */
    private void say(MessageKind kind, long page) {
        spaces.doWork();
        say(a, kind, A.attachment(), a.session(), page);
    }

    private List<String> heard(SimulatedChannel by) {
        spaces.doWork();
        List<String> all = new ArrayList<>();
        while (!by.isEmpty()) {
            MemorySegment message = by.deliver();
            all.add(CoherentMessage.kind(message) + " " + CoherentMessage.page(message));
        }
        return all;
    }

    /** Number of the session in which this node takes pages. */
    private long ready() {
        spaces.doWork();
        MemorySegment message = other.deliver();
        assertEquals(MessageKind.MIRROR_READY, CoherentMessage.kind(message));
        return CoherentMessage.session(message);
    }

    /** This node is the first home. Its only member sends page 1 home, and the second home is not connected. */
    private void sendPageHome() {
        spaces.host(List.of()).join();
        spaces.onOpened(a);
        host(Optional.empty(), Optional.of("other"), false, A);
        say(MessageKind.SYNC_BEGIN, 0);
        say(MessageKind.SYNC_END, 0);
        say(MessageKind.GETM, 1);
        say(MessageKind.PUT, 1);
    }

    private byte stored(int page) {
        return exported.get(JAVA_BYTE, OFFSET + page * 4096L);
    }

    @Test
    void shouldKeepWhatTheFirstHomeSends() {
        spaces.onOpened(other);
        host(Optional.of("other"), Optional.empty(), false, A);
        long session = ready();
        say(other, MessageKind.MIRROR, 0, session, 2);
        assertEquals(List.of("MIRROR_ACK 2"), heard(other));
        assertEquals(FILLED, stored(2));
        // Sent before the session began, or to another space's frames.
        say(other, MessageKind.MIRROR, 0, session - 1, 3);
        say(other, MessageKind.MIRROR, 0, session, PAGES);
        say(a, MessageKind.MIRROR, 0, session, 3);
        assertEquals(List.of(), heard(other));
        assertEquals(0, stored(3));
    }

    @Test
    void shouldBeReadyWhicheverOfTheTwoHomesIsTold() {
        spaces.onOpened(other);
        say(other, MessageKind.MIRROR_JOIN, 0, 0, 0);
        assertEquals(List.of(), heard(other), "this home does not know the extent yet");
        host(Optional.of("other"), Optional.empty(), false, A);
        long first = ready();
        say(other, MessageKind.MIRROR_JOIN, 0, 0, 0);
        assertTrue(ready() > first);
    }

    @Test
    void shouldTakeNothingFromAFormerFirstHome() {
        spaces.onOpened(other);
        host(Optional.of("other"), Optional.empty(), false, A);
        long session = ready();
        host(Optional.empty(), Optional.empty(), true, A);
        say(other, MessageKind.MIRROR, 0, session, 2);
        assertEquals(List.of(), heard(other));
        assertEquals(0, stored(2));
    }

    @Test
    void shouldGrantNothingBeforeItHasHeardTheMembersOfTheFirstHome() {
        spaces.onOpened(a);
        host(Optional.of("other"), Optional.empty(), false, A, B);
        host(Optional.empty(), Optional.empty(), true, A, B);
        say(MessageKind.SYNC_BEGIN, 0);
        say(MessageKind.SYNC_END, 0);
        say(MessageKind.GETS, 1);
        assertEquals(List.of("ADMITTED 0"), heard(a), "the other member may have the page");
    }

    @Test
    void shouldNotAwaitMembersOfASpaceThatHadNoneWhenItMoved() {
        spaces.onOpened(a);
        host(Optional.empty(), Optional.empty(), true);
        host(Optional.empty(), Optional.empty(), true, A, B);
        say(MessageKind.SYNC_BEGIN, 0);
        say(MessageKind.SYNC_END, 0);
        say(MessageKind.GETS, 1);
        assertEquals(List.of("ADMITTED 0", "DATA_S 1"), heard(a));
    }

    @Test
    void shouldConfirmAndGrantAPageWhenTheSecondHomeHasIt() {
        spaces.host(List.of()).join();
        spaces.onOpened(a);
        host(Optional.empty(), Optional.of("other"), false, A);
        assertEquals(List.of("other"), opened);
        say(MessageKind.SYNC_BEGIN, 0);
        say(MessageKind.SYNC_END, 0);
        say(MessageKind.GETM, 1);
        assertEquals(List.of("ADMITTED 0", "DATA_M 1"), heard(a));
        say(MessageKind.PUT, 1);
        assertEquals(List.of(), heard(a), "there is no channel");
        spaces.onOpened(other);
        assertEquals(List.of("MIRROR_JOIN 0"), heard(other));
        say(other, MessageKind.MIRROR_READY, 0, 9, 0);
        assertEquals(List.of("MIRROR 1"), heard(other));
        say(other, MessageKind.MIRROR_ACK, 0, 8, 1);
        assertEquals(List.of(), heard(a), "the confirmation is of an earlier session");
        say(other, MessageKind.MIRROR_ACK, 0, 9, 1);
        assertEquals(List.of("PUT_ACK 1"), heard(a));
    }

    @Test
    void shouldGrantNoPageOfOneThatIsCutOffBeforeSecondHomeHasIt() {
        SimulatedChannel b = new SimulatedChannel("b", 1, 1000);
        spaces.host(List.of()).join();
        spaces.onOpened(a);
        spaces.onOpened(b);
        spaces.onOpened(other);
        host(Optional.empty(), Optional.of("other"), false, A, B);
        say(other, MessageKind.MIRROR_READY, 0, 9, 0);
        say(MessageKind.SYNC_BEGIN, 0);
        say(MessageKind.SYNC_END, 0);
        say(MessageKind.GETM, 1);
        for (MessageKind kind : List.of(MessageKind.SYNC_BEGIN, MessageKind.SYNC_END, MessageKind.GETS)) {
            say(b, kind, B.attachment(), b.session(), 1);
        }
        say(MessageKind.PUT, 1);
        host(Optional.empty(), Optional.of("other"), false, B);
        assertEquals(List.of("ADMITTED 0"), heard(b));
        say(other, MessageKind.MIRROR_ACK, 0, 9, 1);
        assertEquals(List.of("DATA_S 1"), heard(b));
    }

    @Test
    void shouldKeepWhatAMemberHadSentThatIsCutOff() {
        sendPageHome();
        host(Optional.empty(), Optional.of("other"), false, B);
        assertEquals(0, spaces.status().join().getFirst().lostPages());
        assertEquals(FILLED, stored(1));
    }

    @Test
    void shouldGoOnWithoutASecondHomeThatWasDropped() {
        sendPageHome();
        assertEquals(List.of("ADMITTED 0", "DATA_M 1"), heard(a));
        host(Optional.empty(), Optional.empty(), true, A);
        assertEquals(List.of("PUT_ACK 1"), heard(a));
    }
}
