package io.farpage.agent.data.pager.home;

import io.farpage.agent.data.pager.page.PageSet;
import io.farpage.agent.data.shard.Counter;
import io.farpage.agent.data.shard.FailureDetector;
import io.farpage.agent.data.shard.FetchStatus;
import org.jspecify.annotations.Nullable;

/**
 * A home that joins an extent, as one pager sees it. The home pulls the pages from the other homes; the pager notes
 * those whose WRITE began before that was done, since the home may have read them too early. As soon as the home can be
 * reached after that, it gets every WRITE that the homes of the extent get, and the noted pages that no WRITE brings
 * are copied to it. A bit for each page says whether the home may still lack what the other homes have. When no bit is
 * left, a WRITE counts as completed only if this home has completed it, too, and the home may be promoted. Guests never
 * read from it. The shard's thread only.
 */
public final class Joining {
    /** How far the home has come. */
    public enum State {
        /** It pulls the pages, or waits until it may, and gets no WRITE. */
        PULLING,
        /** It has pulled the pages, cannot be reached yet, and gets no WRITE. */
        WAITING,
        /** It gets every WRITE, and the noted pages are copied to it. */
        COPYING,
        /** It has what the other homes have. */
        READY,
        /** It has missed a WRITE or a copy, or pulls what this pager has not noted, and must be dropped. */
        FAILED
    }

    private final SpaceMap.Copy at;
    private final @Nullable Home home;
    private final int first;
    private final int end;
    private final int pageBytes;
    private final long origin;
    private long since;
    private long epoch;
    private SpaceMap.Pull pull;
    private State state;
    /** Whether WRITEs that were under way in the beginning are noted, and so all. */
    private boolean notes;
    /** The page up to which they are noted. */
    private int notedUntil;
    /** By page from the first on: which of them the home may lack. */
    private final PageSet lacking;

    private final Counter left = new Counter();
    private int cursor;
    private long toldAt;
    private boolean told;

    /**
     * @param extent of the map
     * @param end the page behind its last
     * @param home null if it is this node
     * @param now nanoseconds
     */
    Joining(SpaceMap map, int extent, int end, SpaceMap.Copy at, @Nullable Home home, long now) {
        this.at = at;
        this.home = home;
        this.end = end;
        first = (int) map.firstPage(extent);
        notedUntil = first;
        pageBytes = map.pageSize();
        origin = map.origin(extent);
        epoch = map.epoch(extent);
        since = now;
        pull = map.pull(extent);
        // The pull of a home that another pager let begin, as that of an agent that was killed, may have missed WRITEs.
        state = pull == SpaceMap.Pull.AWAITED ? State.PULLING : State.FAILED;
        lacking = new PageSet(end - first);
        left.add(end - first);
    }

    /** Whether a later map means the same home of the same extent, which is then in this epoch. */
    public boolean continues(SpaceMap map, int extent, SpaceMap.Copy joins, long now) {
        boolean same = joins.equals(at) && map.origin(extent) == origin && map.firstPage(extent) == first;
        if (same && epoch != map.epoch(extent)) {
            epoch = map.epoch(extent);
            told = false;
        }
        if (same) {
            follow(map.pull(extent), now);
        }
        return same;
    }

    private void follow(SpaceMap.Pull latest, long now) {
        pull = latest;
        if (!notes && pull != SpaceMap.Pull.AWAITED) {
            fail(); // a WRITE may have ended unseen
        }
        if (state == State.PULLING && pull == SpaceMap.Pull.DONE) {
            state = State.WAITING;
            since = now;
        }
    }

    /** Whether the home waits for {@link Mirroring#mayPull}. */
    public boolean awaitsPull() {
        return state == State.PULLING && pull == SpaceMap.Pull.AWAITED;
    }

    /** Whether WRITEs that were under way when the home was first seen are still to be noted. */
    public boolean mustNote() {
        return state == State.PULLING && !notes;
    }

    /** The first page whose WRITE is still to be noted if it is under way. */
    public int notedUntil() {
        return notedUntil;
    }

    /**
     * The WRITEs that were under way when the home was first seen are noted for all pages before {@code page}. A WRITE
     * that ended before it was noted need not be: the home pulls only after all pages are done, and reads what that
     * WRITE has written.
     */
    public void noted(int page) {
        assert page >= notedUntil && page <= end : page;
        notedUntil = page;
        notes = page == end;
    }

    /** A WRITE to the other homes begins, or is under way: the home may read these pages before it, and lack them. */
    public void note(int page, int count) {
        assert page >= first && page + count <= end : page;
        if (!isWritten()) {
            for (int i = page - first; i < page - first + count; i++) {
                lacking.add(i);
            }
        }
    }

    public State state() {
        return state;
    }

    /** Whether it gets every WRITE. */
    boolean isWritten() {
        return state == State.COPYING || state == State.READY;
    }

    /** Null if it is this node. */
    @Nullable
    public Home home() {
        return home;
    }

    public String node() {
        return at.node();
    }

    public long incarnation() {
        return at.incarnation();
    }

    /** Where a page starts within the exported frames of the home, bytes. */
    public long offset(int page) {
        return at.offset() + (long) (page - first) * pageBytes;
    }

    public int first() {
        return first;
    }

    public int end() {
        return end;
    }

    /** First page of the extent in the whole space. */
    public long origin() {
        return origin;
    }

    /** The epoch of the extent. */
    public long epoch() {
        return epoch;
    }

    /** When it was first seen, or had pulled the pages, nanoseconds. */
    public long since() {
        return since;
    }

    /** Pages that the home may lack. */
    public int left() {
        return (int) left.get();
    }

    /** How far it has come, for any thread. */
    CopyProgress progress() {
        return new CopyProgress(origin, epoch, left);
    }

    /** From now on the home gets every WRITE; it may lack the pages that were noted while it pulled. */
    public void begin() {
        assert state == State.WAITING && notes : state;
        state = State.COPYING;
        left.add(lacking.size() - left.get());
        cursor = 0;
        told = false;
    }

    /** No page is lacking: from now on no WRITE is completed without this home. */
    public void ready() {
        assert state == State.COPYING && lacking.size() == 0 : state;
        state = State.READY;
        told = false;
    }

    /**
     * It has missed a page. A home that is ready does not fail by that: the WRITE does, and the page stays resident.
     */
    public void fail() {
        if (state != State.READY) {
            state = State.FAILED;
            told = false;
        }
    }

    /** Whether the state must be reported to the control plane now: at first, and from time to time while it lasts. */
    public boolean tell(long now) {
        if (told && now - toldAt < FailureDetector.REPEAT_NANOS) {
            return false;
        }
        told = true;
        toldAt = now;
        return true;
    }

    /** Whether the home may lack a page. */
    public boolean lacks(int page) {
        return lacking.contains(page - first);
    }

    /** The home has what the other homes have of these pages. */
    public void has(int page, int count) {
        assert page >= first && page + count <= end : page;
        int had = 0;
        for (int i = page - first; i < page - first + count; i++) {
            had += lacking.remove(i) ? 1 : 0;
        }
        left.add(-had);
    }

    /**
     * The next page that the home may lack, behind the page of the latest call and then from the first page on; -1
     * behind the last.
     */
    public int next() {
        int page = lacking.next(cursor);
        cursor = page + 1;
        return page < 0 ? -1 : first + page;
    }

    /** Lets {@link #next} go on behind a page. */
    public void passed(int page) {
        cursor = page + 1 - first;
    }

    /**
     * How a WRITE to the homes of its extent has ended, this home included.
     *
     * @param its how it ended for this home; PENDING if it began without it
     * @param page the first of the pages
     * @param others how it ended for the homes
     */
    public FetchStatus judge(FetchStatus its, int page, int count, FetchStatus others) {
        if (home == null || !isWritten()) {
            return others;
        }
        if (its == FetchStatus.OK) {
            has(page, count);
        } else if (state == State.READY) {
            return its == FetchStatus.PENDING ? FetchStatus.UNREACHABLE : its;
        } else if (its != FetchStatus.PENDING) {
            fail(); // a WRITE that began before the home was written to leaves the page lacking
        }
        return others;
    }
}
