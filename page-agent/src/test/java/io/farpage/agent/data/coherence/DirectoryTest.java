package io.farpage.agent.data.coherence;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.agent.data.coherence.DirectoryExtents.Extent;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A directory, and members that the test plays. */
class DirectoryTest {
    private static final long SPACE = 7;
    private static final int FIRST = 8;
    private static final int PAGES = 4;
    private static final byte FILLED = 42;

    private long sessions;
    private final MemorySegment frames = Arena.ofAuto().allocate(PAGES * 4096L, 8);
    private final Directory directory =
            new Directory(SPACE, List.of(new Extent(FIRST, frames)), false, () -> ++sessions);
    private final Played a = new Played("a", 1);
    private final Played b = new Played("b", 2);

    /** A member. */
    private final class Played {
        final MemberId id;
        final SimulatedChannel channel;

        Played(String node, long attachment) {
            this(node, 1, attachment);
        }

        Played(String node, long incarnation, long attachment) {
            id = new MemberId(node, incarnation, attachment);
            channel = new SimulatedChannel(node, incarnation, 1000);
        }

        private long session() {
            directory.send();
            return channel.session();
        }

        /** Says that it has one page. */
        void hold(long page, int what) {
            MemorySegment message = Arena.ofAuto().allocate(CoherentMessage.PAGE_MESSAGE_BYTES, 8);
            CoherentMessage.write(message, MessageKind.SYNC, 0, SPACE, id.attachment(), session(), page);
            CoherentMessage.hold(message, 0, what);
            directory.onMessage(channel, message);
        }

        void say(MessageKind kind, int flags, long page, int payload) {
            MemorySegment message = Arena.ofAuto().allocate(CoherentMessage.HEADER_BYTES + payload, 8);
            CoherentMessage.write(message, kind, flags, SPACE, id.attachment(), session(), page);
            CoherentMessage.setLayout(message, CoherentMessage.layout(0, FIRST, PAGES));
            message.asSlice(CoherentMessage.HEADER_BYTES).fill(FILLED);
            directory.onMessage(channel, message);
        }

        void say(MessageKind kind, long page) {
            say(kind, 0, page, 0);
        }

        /** Has no pages. */
        void sync() {
            say(MessageKind.SYNC_BEGIN, 0);
            say(MessageKind.SYNC_END, 0);
        }

        /** What it was sent since the last call. */
        List<String> heard() {
            directory.send();
            List<String> all = new ArrayList<>();
            while (!channel.isEmpty()) {
                MemorySegment message = channel.deliver();
                all.add(CoherentMessage.kind(message) + " " + CoherentMessage.page(message));
            }
            return all;
        }
    }

    private void members(Played... all) {
        directory.setMembers(
                Arrays.stream(all).map(member -> member.id).collect(Collectors.toSet()),
                false,
                false,
                Arrays.stream(all).map(member -> member.channel).toList());
    }

    private void bothSynced() {
        members(a, b);
        a.sync();
        b.sync();
        assertEquals(List.of("ADMITTED 0"), a.heard());
        assertEquals(List.of("ADMITTED 0"), b.heard());
    }

    @Test
    void shouldSendTheFrameToReaders() {
        bothSynced();
        a.say(MessageKind.GETS, FIRST);
        b.say(MessageKind.GETS, FIRST);
        assertEquals(List.of("DATA_S 8"), a.heard());
        assertEquals(List.of("DATA_S 8"), b.heard());
        assertEquals(0, directory.status().invalidations());
    }

    @Test
    void shouldOfferOnlyPagesThatNoMemberHasToGiveUp() {
        bothSynced();
        a.say(MessageKind.GETM, FIRST);
        a.say(MessageKind.GETS, FIRST + 1);
        a.heard();
        b.say(MessageKind.GETS, CoherentMessage.IF_FREE, FIRST, 0);
        b.say(MessageKind.GETS, CoherentMessage.IF_FREE, FIRST + 1, 0);
        b.say(MessageKind.GETS, CoherentMessage.IF_FREE, FIRST + 2, 0);
        assertEquals(List.of("DECLINED 8", "DATA_S 9", "DATA_S 10"), b.heard());
        assertEquals(List.of(), a.heard());
    }

    @Test
    void shouldIgnoreWhatWasSaidInAnEarlierSession() {
        bothSynced();
        MemorySegment late = Arena.ofAuto().allocate(CoherentMessage.HEADER_BYTES, 8);
        CoherentMessage.write(late, MessageKind.GETS, 0, SPACE, a.id.attachment(), a.session(), FIRST);
        a.say(MessageKind.JOIN, 0);
        a.sync();
        directory.onMessage(a.channel, late);
        assertEquals(List.of("ADMITTED 0"), a.heard());
        a.say(MessageKind.GETS, FIRST);
        assertEquals(List.of("DATA_S 8"), a.heard());
    }

    @Test
    void shouldKeepWhatAnOwnerSends() {
        bothSynced();
        a.say(MessageKind.GETM, FIRST + 1);
        assertEquals(List.of("DATA_M 9"), a.heard());
        b.say(MessageKind.GETS, FIRST + 1);
        assertEquals(List.of("RECALL 9"), a.heard());
        assertEquals(List.of(), b.heard());
        a.say(MessageKind.PUT, 0, FIRST + 1, 4096);
        assertEquals(List.of("PUT_ACK 9"), a.heard());
        assertEquals(List.of("DATA_S 9"), b.heard());
        assertEquals(FILLED, frames.get(java.lang.foreign.ValueLayout.JAVA_BYTE, 4096));
    }

    @Test
    void shouldInvalidateAllReadersAtTheSameTime() {
        Played c = new Played("c", 3);
        members(a, b, c);
        List.of(a, b, c).forEach(Played::sync);
        List.of(a, b, c).forEach(each -> each.say(MessageKind.GETS, FIRST));
        List.of(a, b, c).forEach(Played::heard);
        c.say(MessageKind.GETM, CoherentMessage.HAS_SHARED, FIRST, 0);
        assertEquals(List.of("INV 8"), a.heard());
        assertEquals(List.of("INV 8"), b.heard());
        a.say(MessageKind.INV_ACK, FIRST);
        assertEquals(List.of(), c.heard());
        b.say(MessageKind.INV_ACK, FIRST);
        assertEquals(List.of("GRANT_M 8"), c.heard());
    }

    @Test
    void shouldCountWhatItTakesFromMembers() {
        bothSynced();
        a.say(MessageKind.GETM, FIRST + 1);
        b.say(MessageKind.GETM, FIRST + 1);
        a.say(MessageKind.PUT, 0, FIRST + 1, 4096);
        a.say(MessageKind.INV_ACK, FIRST + 1);
        b.say(MessageKind.GETM, FIRST + 2);
        DirectoryStatus status = directory.status();
        assertEquals(3, status.requests());
        // The owner sends the page, and gives it up when that has arrived.
        assertEquals(List.of(new DirectoryStatus.Bouncing(FIRST + 1, 2, "a", "b")), status.bouncing());
        assertEquals(
                List.of(
                        new DirectoryStatus.Part(FIRST, 1, 0),
                        new DirectoryStatus.Part(FIRST + 1, 1, 2),
                        new DirectoryStatus.Part(FIRST + 2, 1, 0),
                        new DirectoryStatus.Part(FIRST + 3, 1, 0)),
                status.parts());
    }

    @Test
    void shouldAnswerWithoutAMemberThatHasLeft() {
        bothSynced();
        a.say(MessageKind.GETS, FIRST);
        b.say(MessageKind.GETS, FIRST + 1);
        a.heard();
        b.heard();
        a.say(MessageKind.LEFT, 0);
        b.say(MessageKind.GETM, FIRST);
        assertEquals(List.of("DATA_M 8"), b.heard());
        assertEquals(List.of(), a.heard());
    }

    @Test
    void shouldAnswerNothingBeforeAllFormerMembersAreHeard() {
        directory.setMembers(Set.of(a.id, b.id), false, true, List.of(a.channel, b.channel));
        a.sync();
        a.say(MessageKind.GETM, FIRST);
        a.say(MessageKind.GETS, FIRST + 1);
        assertEquals(List.of("ADMITTED 0"), a.heard());
        // It is heard, and has another channel soon after: what it has then is not what others have.
        directory.onClosed(a.channel);
        directory.onOpened(a.channel);
        a.sync();
        a.say(MessageKind.GETM, FIRST);
        assertEquals(List.of("ADMITTED 0"), a.heard());
        b.sync();
        assertEquals(List.of("DATA_M 8"), a.heard());
    }

    /** One that was heard gives a page up, which another one wants, while a third one was not heard. */
    @Test
    void shouldAnswerNoRequestThatWaitsBeforeAllAreHeard() {
        Played c = new Played("c", 3);
        directory.setMembers(Set.of(a.id, b.id, c.id), false, true, List.of(a.channel, b.channel, c.channel));
        a.say(MessageKind.SYNC_BEGIN, 0);
        a.hold(FIRST, CoherentMessage.SHARED);
        a.say(MessageKind.SYNC_END, 0);
        b.sync();
        b.say(MessageKind.GETM, FIRST);
        a.say(MessageKind.JOIN, 0);
        a.sync();
        assertEquals(List.of("ADMITTED 0"), b.heard());
        c.sync();
        assertEquals(List.of("DATA_M 8"), b.heard());
    }

    @Test
    void shouldLoseThePagesOfAMemberThatIsCutOff() {
        bothSynced();
        a.say(MessageKind.GETM, FIRST);
        a.say(MessageKind.GETS, FIRST + 1);
        b.say(MessageKind.GETM, FIRST);
        b.heard();
        members(b);
        assertEquals(List.of("LOST 8"), b.heard());
        b.say(MessageKind.GETM, FIRST + 1);
        b.say(MessageKind.GETS, FIRST);
        assertEquals(List.of("DATA_M 9", "LOST 8"), b.heard());
    }

    @Test
    void shouldKeepThePagesOfAMemberForItsSuccessor() {
        bothSynced();
        a.say(MessageKind.GETM, FIRST);
        b.say(MessageKind.GETM, FIRST);
        assertEquals(List.of("DATA_M 8", "RECALL 8"), a.heard());
        Played later = new Played("a", 2, 1);
        members(later, b);
        a.say(MessageKind.PUT, 0, FIRST, 4096);
        assertEquals(List.of(), a.heard(), "the one before is cut off");
        assertEquals(List.of("ADMITTED 0"), later.heard());
        assertEquals(List.of(), b.heard());
        later.say(MessageKind.SYNC_BEGIN, 0);
        later.hold(FIRST, CoherentMessage.MODIFIED);
        later.say(MessageKind.SYNC_END, 0);
        assertEquals(List.of("RECALL 8"), later.heard());
        later.say(MessageKind.PUT, 0, FIRST, 4096);
        assertEquals(List.of("PUT_ACK 8", "INV 8"), later.heard());
        later.say(MessageKind.INV_ACK, FIRST);
        assertEquals(List.of("DATA_M 8"), b.heard());
        assertEquals(FILLED, frames.get(JAVA_BYTE, 0));
        assertEquals(0, directory.status().lostPages());
    }

    @Test
    void shouldLoseThePagesOfAMemberWhoseNodeAttachesAnew() {
        bothSynced();
        a.say(MessageKind.GETM, FIRST);
        members(new Played("a", 2, 3), b);
        assertEquals(1, directory.status().lostPages());
    }

    @Test
    void shouldIgnoreNodesThatAreNoMembers() {
        members(b);
        b.sync();
        b.heard();
        a.sync();
        a.say(MessageKind.GETS, FIRST);
        assertEquals(List.of(), a.heard());
        // An earlier attachment of a node that is one.
        Played earlier = new Played("b", 1);
        earlier.say(MessageKind.JOIN, 0);
        earlier.sync();
        earlier.say(MessageKind.GETM, FIRST);
        assertEquals(List.of(), earlier.heard());
        assertEquals(List.of(), b.heard());
    }

    @Test
    void shouldWelcomeAMemberOnceItIsKnown() {
        a.say(MessageKind.JOIN, 0);
        assertEquals(List.of(), a.heard());
        members(a);
        assertEquals(List.of("ADMITTED 0"), a.heard());
        a.say(MessageKind.JOIN, 0);
        assertEquals(List.of("ADMITTED 0"), a.heard());
    }

    @ParameterizedTest
    @CsvSource({
        "GETS, 0, 7, 0",
        "GETS, 0, 12, 0",
        "PUT, 0, 8, 0",
        "INV_ACK, 0, 8, 0",
        "SYNC_BEGIN, 0, 0, 0",
        "SYNC_END, 0, 0, 0",
        "SYNC, 0, 8, 4096",
        "DATA_M, 0, 8, 4096",
    })
    void shouldRefuseAMemberThatSaysWhatItCannot(MessageKind kind, int flags, long page, int payload) {
        bothSynced();
        a.say(kind, flags, page, payload);
        assertEquals(List.of("REFUSED 0"), a.heard());
        a.say(MessageKind.GETS, FIRST);
        assertEquals(List.of(), a.heard());
        b.say(MessageKind.GETS, FIRST);
        assertEquals(List.of("DATA_S 8"), b.heard());
    }

    @Test
    void shouldRefuseAMemberThatRequestsWhatItHas() {
        bothSynced();
        a.say(MessageKind.GETM, FIRST);
        a.heard();
        a.say(MessageKind.GETS, FIRST);
        assertEquals(List.of("REFUSED 0"), a.heard());
    }

    @Test
    void shouldRefuseAMemberThatHasWhatItWasNotGranted() {
        members(a);
        a.say(MessageKind.SYNC_BEGIN, 0);
        // The directory has granted nothing.
        MemorySegment message = Arena.ofAuto().allocate(CoherentMessage.PAGE_MESSAGE_BYTES, 8);
        CoherentMessage.write(message, MessageKind.SYNC, 0, SPACE, a.id.attachment(), a.session(), FIRST);
        CoherentMessage.hold(message, 1, CoherentMessage.MODIFIED);
        directory.onMessage(a.channel, message);
        a.say(MessageKind.SYNC_END, 0);
        assertTrue(a.heard().contains("REFUSED 0"));
    }

    @Test
    void shouldBoundTheRequestsThatWait() {
        bothSynced();
        a.say(MessageKind.GETM, FIRST);
        a.heard();
        for (int i = 0; i <= DirectoryPages.MAX_MEMBERS * Member.MAX_REQUESTS + 1; i++) {
            b.say(MessageKind.GETS, FIRST);
        }
        assertEquals(List.of("REFUSED 0"), b.heard());
    }
}
