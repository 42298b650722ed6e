package io.farpage.agent.data.coherence;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.linux.Errno;
import io.farpage.linux.uffd.PresentPages;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class KeptMemberTest {
    private static final int PAGE = SimulatedProcess.PAGE;
    private static final List<String> STATES =
            List.of("INVALID", "READING", "WRITING", "SHARED", "UPGRADING", "MODIFIED", "SENDING", "LOST");

    private final MemorySegment states = Arena.ofAuto().allocate(3);
    private final MemorySegment messages = Arena.ofAuto().allocate(KeptMember.MESSAGES_BYTES, Long.BYTES);
    private final KeptMember kept = new KeptMember(states, messages);

    /** A file of three pages that has the middle one, or none. */
    private record File(boolean isPresent) implements PresentPages {
        @Override
        public long nextData(long offset) {
            return isPresent && offset <= PAGE ? PAGE : -Errno.ENXIO;
        }

        @Override
        public long nextHole(long offset) {
            return offset == PAGE && isPresent ? 2 * PAGE : offset;
        }
    }

    private void leave(String state, int flags) {
        MemberPages pages = kept.pages();
        pages.setState(1, STATES.indexOf(state));
        pages.set(1, flags);
    }

    private String adopted(boolean isPresent) {
        assertEquals(Optional.empty(), kept.adopt(new File(isPresent)));
        assertTrue(kept.isAdopted());
        return STATES.get(kept.pages().state(1));
    }

    @ParameterizedTest
    @CsvSource({
        "READING, SHARED",
        "SHARED, SHARED",
        "UPGRADING, UPGRADING",
        "MODIFIED, MODIFIED",
        "SENDING, SENDING",
    })
    void shouldKeepPageWhenTheFileHasIt(String left, String expected) {
        leave(left, MemberPages.VICTIM | MemberPages.AWAITED | MemberPages.INVALIDATED | MemberPages.RECALLED);
        assertEquals(expected, adopted(true));
        assertEquals(STATES.indexOf(expected), states.get(JAVA_BYTE, 1), "flags");
        assertEquals(Optional.empty(), kept.fault());
        assertEquals(1, kept.pages().held());
    }

    @ParameterizedTest
    @CsvSource({
        "INVALID, INVALID",
        "READING, READING",
        "WRITING, WRITING",
        "SHARED, INVALID",
        "UPGRADING, WRITING",
        "MODIFIED, WRITING",
        "SENDING, INVALID",
        "LOST, LOST",
    })
    void shouldRequestOrForgetPageWhenTheFileHasItNot(String left, String expected) {
        leave(left, 0);
        assertEquals(expected, adopted(false));
        assertEquals(expected, adopted(false), "also if a second successor does it again");
        assertEquals(Optional.empty(), kept.fault());
    }

    @ParameterizedTest
    @CsvSource({"INVALID", "WRITING", "LOST"})
    void shouldEndMembershipWhenTheFileHasPageOfAnother(String left) {
        leave(left, 0);
        adopted(true);
        assertTrue(kept.fault().orElseThrow().startsWith("page 1 is in its memory file although"));
    }

    @Test
    void shouldSendPageUnchangedWhenItWasGrantedAndNotInstalled() {
        leave("SENDING", MemberPages.PARKED | MemberPages.VICTIM);
        assertEquals("SENDING", adopted(false));
        assertTrue(kept.pages().has(1, MemberPages.PARKED));
        assertTrue(kept.pages().has(1, MemberPages.VICTIM));
    }

    @ParameterizedTest
    @CsvSource({"SHARED, true", "SHARED, false", "INVALID, true"})
    void shouldHaveNoPageWhenHomesWereToldSo(String state, boolean isPresent) {
        leave(state, 0);
        kept.markLeft();
        assertEquals("INVALID", adopted(isPresent));
        assertTrue(kept.isGone());
        assertEquals(Optional.empty(), kept.fault());
    }

    @Test
    void shouldEndMembershipWhenItHadEnded() {
        kept.markBroken();
        adopted(false);
        assertEquals(
                "its membership had ended before its agent was killed",
                kept.fault().orElseThrow());
        assertFalse(kept.isGone());
    }

    @Test
    void shouldRefuseFileThatCannotBeSearched() {
        PresentPages closed = new PresentPages() {
            @Override
            public long nextData(long offset) {
                return -Errno.EBADF;
            }

            @Override
            public long nextHole(long offset) {
                return -Errno.EBADF;
            }
        };
        assertEquals(
                "the memory file cannot be searched: EBADF", kept.adopt(closed).orElseThrow());
        assertFalse(kept.isAdopted());
    }
}
