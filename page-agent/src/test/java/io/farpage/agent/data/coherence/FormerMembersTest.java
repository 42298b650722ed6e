package io.farpage.agent.data.coherence;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.farpage.agent.data.shard.DutyCycle;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The directories of a process, and a member that the test plays. */
class FormerMembersTest {
    private static final long SPACE = 7;
    private static final MemberId B = new MemberId("b", 1, 2);

    private final MemorySegment frames = Arena.ofAuto().allocate(4 * 4096L, 8);
    private final SimulatedChannel channel = new SimulatedChannel("b", 1, 1000);
    private final CoherentSpaces spaces = new CoherentSpaces("home", 1, frames, new Inline(), () -> 0);

    /** A shard that runs each task at once. */
    private static final class Inline implements CoherentSpaces.Home {
        @Override
        public void run(Runnable task) {
            task.run();
        }

        @Override
        public void add(DutyCycle cycle) {}

        @Override
        public void open(String peer) {}
    }

    private static HostedExtent extent(boolean torn, MemberId... members) {
        return HostedExtent.of(SPACE, 0, 4, 0, torn, Set.of(members));
    }

    private void say(MessageKind kind, long page) {
        MemorySegment message = Arena.ofAuto().allocate(CoherentMessage.HEADER_BYTES, 8);
        spaces.doWork();
        CoherentMessage.write(message, kind, 0, SPACE, B.attachment(), channel.session(), page);
        CoherentMessage.setLayout(message, CoherentMessage.layout(0, 0, 4));
        spaces.onMessage(channel, message);
    }

    /** The member has no page, and requests one. Returns what it is sent. */
    private List<String> requestPage() {
        spaces.onOpened(channel);
        say(MessageKind.SYNC_BEGIN, 0);
        say(MessageKind.SYNC_END, 0);
        say(MessageKind.GETS, 1);
        spaces.doWork();
        List<String> all = new ArrayList<>();
        while (!channel.isEmpty()) {
            MemorySegment message = channel.deliver();
            all.add(CoherentMessage.kind(message) + " " + CoherentMessage.page(message));
        }
        return all;
    }

    @Test
    void shouldServePagesOfATornSpaceThatItHasNotServedBefore() {
        spaces.host(List.of()).join();
        spaces.host(List.of(extent(true, B))).join();

        assertEquals(List.of("ADMITTED 0", "DATA_S 1"), requestPage());
    }

    @Test
    void shouldServePagesOnceItHasServedNoMembersMeanwhile() {
        spaces.host(List.of(extent(false, new MemberId("a", 1, 1)))).join();
        spaces.host(List.of(extent(true))).join();
        spaces.host(List.of(extent(true, B))).join();

        assertEquals(List.of("ADMITTED 0", "DATA_S 1"), requestPage());
    }

    /** An earlier process may have granted any page to the member that is gone. */
    @Test
    void shouldLosePagesOfATornSpaceThatAnEarlierProcessServed() {
        spaces.host(List.of(extent(true, B))).join();

        assertEquals(List.of("ADMITTED 0", "LOST 1"), requestPage());
    }

    @Test
    void shouldAwaitAMemberThatAnEarlierProcessServed() {
        spaces.host(List.of(extent(false, B, new MemberId("a", 1, 1)))).join();

        assertEquals(List.of("ADMITTED 0"), requestPage());
    }

    @Test
    void shouldNotAwaitAMemberThatCanHaveNoPages() {
        spaces.host(List.of()).join();
        spaces.host(List.of(extent(false, B, new MemberId("a", 1, 1)))).join();

        assertEquals(List.of("ADMITTED 0", "DATA_S 1"), requestPage());
    }
}
