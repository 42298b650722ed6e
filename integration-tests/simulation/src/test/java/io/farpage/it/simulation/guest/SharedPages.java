package io.farpage.it.simulation.guest;

import io.farpage.it.simulation.engine.Engine;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * What the members of a coherent space may find in its pages. One thread of the simulation runs at a time, so each page
 * has one latest store, and every load of a member must find that one.
 *
 * <p>A member that is cut off takes along the pages that it alone had. They are lost, and those who come later may find
 * an earlier version. Once a member has found one, that is the latest.
 */
public final class SharedPages {
    /** What the threads of a member store that is cut off. No member may find it. */
    static final long STALE = -1;

    private static final int NEVER = Integer.MAX_VALUE;

    private final Engine engine = Engine.get();
    private final String space;
    private final long[] latest;
    /** How many members had been cut off when the latest version of a page was lost; {@link #NEVER} if it was not. */
    private final int[] lostAt;

    private final List<MemberVmm> members = new ArrayList<>();
    private long versions;
    private int cutOff;
    private boolean hasHomeEnded;
    private boolean mayAllBeLost;
    private long operations;
    private long compared;

    public SharedPages(String space, int pages) {
        this.space = space;
        latest = new long[pages];
        lostAt = new int[pages];
        Arrays.fill(lostAt, NEVER);
    }

    public String space() {
        return space;
    }

    int count() {
        return latest.length;
    }

    /** Loads and stores of all members. */
    public long operations() {
        return operations;
    }

    /** Loads that were compared. */
    public long compared() {
        return compared;
    }

    /** How many members were cut off. */
    public int cutOffs() {
        return cutOff;
    }

    void join(MemberVmm member) {
        members.add(member);
    }

    void leave(MemberVmm member) {
        members.remove(member);
    }

    /** What a member stores next to a page. */
    long nextVersion(int page) {
        return ((long) page << 32) | ++versions;
    }

    /** A member stores to a page, in the same step. */
    void stored(MemberVmm by, int page, long value) {
        operations++;
        for (MemberVmm other : members) {
            if (other != by && other.has(page)) {
                engine.fail("space %s, page %d: %s stores to it while %s has it".formatted(space, page, by, other));
            }
        }
        seen(by, page);
        latest[page] = value;
        lostAt[page] = NEVER;
    }

    /** A member has loaded a page, in the same step. */
    void loaded(MemberVmm by, int page, long found) {
        operations++;
        compared++;
        if (lostAt[page] <= by.joinedAt() && isVersionOf(page, found)) {
            latest[page] = found;
        }
        if (found != latest[page]) {
            engine.fail("space %s, page %d: %s loads %s instead of %s"
                    .formatted(space, page, by, describe(found), describe(latest[page])));
        }
        seen(by, page);
        lostAt[page] = NEVER;
    }

    private void seen(MemberVmm by, int page) {
        members.stream().filter(other -> other != by).forEach(other -> other.seen(page));
    }

    private static boolean isVersionOf(int page, long value) {
        return value == 0 || (value != STALE && value >>> 32 == page);
    }

    private static String describe(long value) {
        return value == 0
                ? "zeros"
                : value == STALE
                        ? "what a member stored that was cut off"
                        : "version %d of page %d".formatted(value & 0xFFFF_FFFFL, value >>> 32);
    }

    /** A member got SIGBUS. */
    void lost(MemberVmm by, int page) {
        if (lostAt[page] == NEVER && !mayAllBeLost) {
            engine.fail(
                    "space %s, page %d: %s gets SIGBUS, although no member was cut off that had it, and no home ended"
                            .formatted(space, page, by));
        }
        engine.trail().count("shared page lost");
    }

    /** A member is about to be cut off, or its agent is killed: what it alone has is lost. */
    void cutOff(MemberVmm member) {
        members.remove(member);
        cutOff++;
        mayAllBeLost |= hasHomeEnded;
        for (int page = 0; page < latest.length; page++) {
            if (member.mayOwn(page)) {
                lostAt[page] = Math.min(lostAt[page], cutOff);
            }
        }
    }

    /**
     * The agent of a home has ended. Its successor does not know what a member had that is cut off before it was heard;
     * without the pool all pages are lost.
     */
    public void homeEnded(boolean isPoolKept) {
        hasHomeEnded = true;
        mayAllBeLost |= !isPoolKept || cutOff > 0;
    }
}
