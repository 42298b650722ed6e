package io.farpage.agent.data.coherence;

import static io.farpage.agent.data.coherence.MemberPages.MODIFIED;
import static io.farpage.agent.data.coherence.MemberPages.PARKED;
import static io.farpage.agent.data.coherence.MemberPages.READING;
import static io.farpage.agent.data.coherence.MemberPages.SENDING;
import static io.farpage.agent.data.coherence.MemberPages.SHARED;
import static io.farpage.agent.data.coherence.MemberPages.UPGRADING;
import static io.farpage.agent.data.coherence.MemberPages.WRITING;

import java.lang.foreign.MemorySegment;

/** Writes the messages of a member, with what its pages are at that moment. */
final class MemberWriter {
    private final MemberGuest guest;
    private final MemberPages pages;
    private final MemberMemory memory;

    MemberWriter(MemberGuest guest, MemberPages pages, MemberMemory memory) {
        this.guest = guest;
        this.pages = pages;
        this.memory = memory;
    }

    /**
     * Writes one. Returns its length.
     *
     * @param session number of the session with the home
     * @param count pages that a SYNC describes
     */
    int write(MemorySegment to, MessageKind kind, int flags, long session, long page, int count) {
        boolean isUnchanged = kind == MessageKind.PUT && pages.has((int) page, PARKED);
        CoherentMessage.write(
                to,
                kind,
                isUnchanged ? flags | CoherentMessage.UNCHANGED : flags,
                guest.space(),
                guest.id().attachment(),
                session,
                page);
        if (kind == MessageKind.PUT && !isUnchanged) {
            memory.read((int) page, CoherentMessage.payload(to));
            return CoherentMessage.PAGE_MESSAGE_BYTES;
        }
        if (kind == MessageKind.SYNC) {
            CoherentMessage.payload(to).fill((byte) 0);
            for (int i = 0; i < count; i++) {
                CoherentMessage.hold(to, i, held((int) page + i));
            }
            return CoherentMessage.PAGE_MESSAGE_BYTES;
        }
        return CoherentMessage.HEADER_BYTES;
    }

    /** What a SYNC says of a page. What was granted counts, whether it is installed or not. */
    private int held(int page) {
        boolean isParked = pages.has(page, PARKED);
        return switch (pages.state(page)) {
            case READING -> isParked ? CoherentMessage.SHARED : CoherentMessage.ABSENT;
            case WRITING -> isParked ? CoherentMessage.MODIFIED : CoherentMessage.ABSENT;
            case UPGRADING -> isParked ? CoherentMessage.MODIFIED : CoherentMessage.SHARED;
            case SHARED -> CoherentMessage.SHARED;
            case MODIFIED -> CoherentMessage.MODIFIED;
            case SENDING -> CoherentMessage.SENDING;
            default -> CoherentMessage.ABSENT;
        };
    }
}
