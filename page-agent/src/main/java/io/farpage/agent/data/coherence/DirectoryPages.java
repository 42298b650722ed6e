package io.farpage.agent.data.coherence;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.farpage.agent.data.pager.page.OffHeap;
import io.farpage.agent.data.pager.page.PageTableException;
import java.lang.foreign.MemorySegment;

/**
 * What a directory knows of each page, in eight bytes: which members have it, whether the only one may write to it, and
 * the request that is being answered.
 *
 * <pre>
 *  0..15  members that may have the page
 * 16..31  members that have to give the page up before the request is answered
 * 32      the only member that has it may write to it
 * 33      a request is being answered
 * 34      the request is for writing
 * 35      the member that requests it has the page shared
 * 36      the member that has requested it has no use for the answer
 * 37      the newest version is lost
 * 38      the only member that has it no longer writes to it, and sends it
 * 39      the second home does not have the version that the frame has
 * 40..43  number of the member that requests it
 * 44      the owner has sent it in its present session, and is told when all homes have it
 * </pre>
 */
final class DirectoryPages {
    /** The most members of a space. */
    static final int MAX_MEMBERS = 16;

    private static final long MEMBERS = 0xFFFF;
    private static final int WAITING_SHIFT = 16;
    private static final long EXCLUSIVE = 1L << 32;
    private static final long BUSY = 1L << 33;
    private static final long WRITE = 1L << 34;
    private static final long HAS_SHARED = 1L << 35;
    private static final long ORPHANED = 1L << 36;
    private static final long LOST = 1L << 37;
    private static final long SENDING = 1L << 38;
    private static final long MIRRORING = 1L << 39;
    private static final int REQUESTER_SHIFT = 40;
    private static final long SENT = 1L << 44;
    private static final long REQUEST = BUSY | WRITE | HAS_SHARED | ORPHANED | (0xFL << REQUESTER_SHIFT);

    private static final int MOST_SHOWN = 64;

    private final int count;
    private final MemorySegment entries;

    /** @throws PageTableException if the host has no memory for them */
    DirectoryPages(int pages) {
        count = pages;
        entries = OffHeap.allocate((long) pages * Long.BYTES);
    }

    int count() {
        return count;
    }

    private long get(int page) {
        return entries.getAtIndex(JAVA_LONG, page);
    }

    private void set(int page, long entry) {
        entries.setAtIndex(JAVA_LONG, page, entry);
    }

    /** The entries of the first pages, as above. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder();
        for (int page = 0; page < Math.min(count, MOST_SHOWN); page++) {
            text.append(page == 0 ? "" : " ").append(Long.toHexString(get(page)));
        }
        return text.toString();
    }

    /** Members that may have a page, a bit for each number. */
    int members(int page) {
        return (int) (get(page) & MEMBERS);
    }

    boolean has(int page, int member) {
        return ((get(page) >>> member) & 1) != 0;
    }

    void add(int page, int member) {
        assert !isExclusive(page) : page;
        set(page, get(page) | (1L << member));
    }

    void remove(int page, int member) {
        set(page, get(page) & ~(1L << member));
        if (members(page) == 0) {
            share(page);
        }
    }

    /** Whether the only member that has a page may write to it. */
    boolean isExclusive(int page) {
        return (get(page) & EXCLUSIVE) != 0;
    }

    /** Whether a member has a page for itself. */
    boolean isOwner(int page, int member) {
        return isExclusive(page) && has(page, member);
    }

    /** The member that has a page for itself. */
    int owner(int page) {
        assert isExclusive(page) && Integer.bitCount(members(page)) == 1 : page;
        return Integer.numberOfTrailingZeros(members(page));
    }

    /** No other member has a page, and this one may write to it from now on. */
    void own(int page, int member) {
        assert (members(page) & ~(1 << member)) == 0 : page;
        set(page, (get(page) & ~MEMBERS) | (1L << member) | EXCLUSIVE);
    }

    /** The owner of a page has it shared from now on. */
    void share(int page) {
        set(page, get(page) & ~(EXCLUSIVE | SENDING));
    }

    /** The owner of a page no longer writes to it, and sends it. */
    void markSending(int page) {
        assert isExclusive(page) : page;
        set(page, get(page) | SENDING);
    }

    /** Whether the owner of a page no longer writes to it. */
    boolean isSending(int page) {
        return (get(page) & SENDING) != 0;
    }

    /** Whether the second home does not have the version that the frame has. */
    boolean isMirroring(int page) {
        return (get(page) & MIRRORING) != 0;
    }

    void markMirroring(int page) {
        set(page, get(page) | MIRRORING);
    }

    void mirrored(int page) {
        set(page, get(page) & ~MIRRORING);
    }

    /** Whether the owner has sent the page in its present session, and waits until all homes have it. */
    boolean isSent(int page) {
        return (get(page) & SENT) != 0;
    }

    void setSent(int page, boolean isSent) {
        set(page, isSent ? get(page) | SENT : get(page) & ~SENT);
    }

    boolean isLost(int page) {
        return (get(page) & LOST) != 0;
    }

    void lose(int page) {
        set(page, get(page) | LOST);
    }

    boolean isBusy(int page) {
        return (get(page) & BUSY) != 0;
    }

    /** Begins to answer a request. */
    void begin(int page, int member, boolean write, boolean hasShared) {
        assert !isBusy(page) : page;
        set(
                page,
                get(page)
                        | (BUSY
                                | (write ? WRITE : 0)
                                | (hasShared ? HAS_SHARED : 0)
                                | ((long) member << REQUESTER_SHIFT)));
    }

    boolean isForWriting(int page) {
        return (get(page) & WRITE) != 0;
    }

    boolean hasShared(int page) {
        return (get(page) & HAS_SHARED) != 0;
    }

    int requester(int page) {
        return (int) (get(page) >>> REQUESTER_SHIFT) & 0xF;
    }

    /** The member that has requested a page no longer waits for it. */
    void orphan(int page) {
        set(page, get(page) | ORPHANED);
    }

    boolean isOrphaned(int page) {
        return (get(page) & ORPHANED) != 0;
    }

    /** The request was answered. */
    void end(int page) {
        assert waiting(page) == 0 : page;
        set(page, get(page) & ~REQUEST);
    }

    /** Members that have to give a page up, a bit for each number. */
    int waiting(int page) {
        return (int) ((get(page) >>> WAITING_SHIFT) & MEMBERS);
    }

    void awaitAll(int page, int members) {
        set(page, get(page) | ((long) members << WAITING_SHIFT));
    }

    /** A member does not have a page. */
    void gaveUp(int page, int member) {
        set(page, get(page) & ~(1L << (WAITING_SHIFT + member)));
        remove(page, member);
    }
}
