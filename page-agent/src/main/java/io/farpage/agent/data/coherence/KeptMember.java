package io.farpage.agent.data.coherence;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import io.farpage.agent.data.pager.page.GuestLayout;
import io.farpage.linux.Errno;
import io.farpage.linux.ErrnoName;
import io.farpage.linux.uffd.PresentPages;
import io.farpage.linux.uffd.UffdMessages;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.util.Optional;

/**
 * What of a member outlives its agent, in memory that another process has a descriptor of: the state of every page, the
 * batch of kernel messages that was read last, and whether the membership is at its end. An agent that is killed leaves
 * all of it as it was after its latest store. {@link #adopt} then makes it what the successor may begin with.
 *
 * <p>The order of the stores makes that safe. A page is {@code MODIFIED} before its process may write to it: before
 * UFFDIO_COPY without protection, and before the protection is taken away. A page is protected before it is {@code
 * SENDING}, and punched out before it is {@code INVALID}, {@code WRITING} or {@code LOST}. The end of the membership is
 * marked before any page is punched out for it, and a message is blanked only after it was handled.
 *
 * <p>So the memory file tells what each page is:
 *
 * <pre>
 * state left  the file has the page                  the file has a hole
 * INVALID     the membership ends                    INVALID
 * READING     SHARED: it was installed last          READING: it is requested again
 * WRITING     the membership ends                    WRITING: it is requested again
 * SHARED      SHARED                                 INVALID: it was punched out last
 * UPGRADING   UPGRADING: it is still protected, and  WRITING: it was invalidated, and punched out last
 *             is requested again
 * MODIFIED    MODIFIED; it may be protected, which   WRITING: it was about to be installed; the home has
 *             a store takes away                     its bytes
 * SENDING     SENDING: it is protected, and is sent  INVALID: the home had it, and it was punched out last;
 *             again                                  SENDING if it was granted and never installed
 * LOST        the membership ends                    LOST
 * </pre>
 *
 * <p>The membership ends where the file has a page that was not installed: another mapping of the file was written to.
 * Each page that the directory may count as this member's own is requested or sent again, so that a member whose
 * process has ended does not leave before its homes have heard of all of them.
 */
public final class KeptMember {
    /** Bytes for the messages and marks. */
    public static final int MESSAGES_BYTES = 4096;

    private static final int BATCH = 16;
    private static final int MARKS_AT = BATCH * UffdMessages.MESSAGE_BYTES;

    private static final int BROKEN = 1;
    private static final int GONE = 2;
    private static final int LEFT = 4;

    private final MemorySegment states;
    private final MemorySegment messages;
    private boolean isAdopted;
    private Optional<String> fault = Optional.empty();

    /**
     * @param states zeros, or what an earlier process has left; a byte for each page of the space
     * @param messages the same, of {@link #MESSAGES_BYTES}, aligned to 8 bytes; locked into memory, so that the kernel
     *     can always write to it
     */
    public KeptMember(MemorySegment states, MemorySegment messages) {
        this.states = states;
        this.messages = messages;
    }

    /** In memory of this process, which no other one adopts. */
    public static KeptMember inMemory(int pages) {
        return new KeptMember(Arena.ofAuto().allocate(pages), Arena.ofAuto().allocate(MESSAGES_BYTES, Long.BYTES));
    }

    MemberPages pages() {
        return new MemberPages(states);
    }

    UffdMessages messages() {
        return new UffdMessages(messages.asSlice(0, MARKS_AT));
    }

    /** Whether an earlier process has had the pages. */
    boolean isAdopted() {
        return isAdopted;
    }

    /** Why the membership of an adopted process ends; empty if it goes on. */
    Optional<String> fault() {
        return has(BROKEN) ? Optional.of("its membership had ended before its agent was killed") : fault;
    }

    /** Whether the process had ended. */
    boolean isGone() {
        return has(GONE);
    }

    /** The membership ends: what the process has can no longer be coherent. */
    void markBroken() {
        mark(BROKEN);
    }

    /** The process has ended. */
    void markGone() {
        mark(GONE);
    }

    /** The process has ended, the homes have all pages, and are about to count on none of this member. */
    void markLeft() {
        mark(GONE | LEFT);
    }

    private boolean has(int mark) {
        return (messages.get(JAVA_BYTE, MARKS_AT) & mark) != 0;
    }

    private void mark(int marks) {
        messages.set(JAVA_BYTE, MARKS_AT, (byte) (messages.get(JAVA_BYTE, MARKS_AT) | marks));
        VarHandle.storeStoreFence();
    }

    /**
     * Makes what an earlier process has left what a member may begin with. The process has ended. May be repeated if
     * this process ends meanwhile.
     *
     * @param file the memory file, which begins with page 0
     * @return why it cannot be done; empty if it was
     */
    public Optional<String> adopt(PresentPages file) {
        fault = Optional.empty();
        int count = (int) states.byteSize();
        int page = 0;
        while (page < count) {
            long data = file.nextData((long) page * GuestLayout.BASE_PAGE);
            if (data < 0 && data != -Errno.ENXIO) {
                return unsearchable(data);
            }
            int from = data < 0 ? count : (int) Math.min(data / GuestLayout.BASE_PAGE, count);
            for (; page < from; page++) {
                put(page, absent(state(page)));
            }
            if (page == count) {
                break;
            }
            long hole = file.nextHole((long) page * GuestLayout.BASE_PAGE);
            if (hole < 0) {
                return unsearchable(hole);
            }
            for (int end = (int) Math.min(hole / GuestLayout.BASE_PAGE, count); page < end; page++) {
                put(page, present(page));
            }
        }
        VarHandle.releaseFence();
        isAdopted = true;
        return Optional.empty();
    }

    private static Optional<String> unsearchable(long failure) {
        return Optional.of("the memory file cannot be searched: " + ErrnoName.of((int) -failure));
    }

    /** The state and flags of a page, as a {@link MemberPages} has them. */
    private int state(int page) {
        return Byte.toUnsignedInt(states.get(JAVA_BYTE, page));
    }

    private void put(int page, int state) {
        if (state(page) != state) {
            states.set(JAVA_BYTE, page, (byte) state);
        }
    }

    private static int absent(int left) {
        int state = left & MemberPages.STATE;
        return switch (state) {
            case MemberPages.SHARED -> MemberPages.INVALID;
            case MemberPages.UPGRADING, MemberPages.MODIFIED -> MemberPages.WRITING;
            case MemberPages.SENDING ->
                (left & MemberPages.PARKED) == 0
                        ? MemberPages.INVALID
                        : MemberPages.SENDING | MemberPages.PARKED | MemberPages.VICTIM;
            default -> state;
        };
    }

    private int present(int page) {
        int state = state(page) & MemberPages.STATE;
        if (has(LEFT) && state != MemberPages.LOST) {
            return MemberPages.INVALID;
        }
        return switch (state) {
            case MemberPages.READING -> MemberPages.SHARED;
            case MemberPages.INVALID, MemberPages.WRITING, MemberPages.LOST -> {
                fault = Optional.of("page %d is in its memory file although it was not installed: another mapping of"
                                .formatted(page)
                        + " the file was written to");
                yield state;
            }
            default -> state;
        };
    }
}
