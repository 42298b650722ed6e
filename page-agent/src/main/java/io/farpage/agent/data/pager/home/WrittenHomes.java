package io.farpage.agent.data.pager.home;

import io.farpage.agent.data.shard.FailureDetector;
import io.farpage.agent.data.shard.SilenceClock;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The homes that the pages of an extent are written to: all of its homes, and the one that joins. One of several homes
 * that takes no WRITEs is reported, so that it is dropped. The shard's thread only. Allocates nothing.
 */
public final class WrittenHomes {
    private final Homes homes;
    private final RemoteHomes remotes;
    private final JoiningHomes joinings;
    private final Mirroring mirroring;
    private final LongSupplier clock;
    private final SilenceClock silence;
    private final long startedAt;

    /**
     * @param clock monotonic nanoseconds
     * @param silence by which homes count as silent
     */
    public WrittenHomes(Homes homes, LongSupplier clock, SilenceClock silence) {
        this.homes = homes;
        this.clock = clock;
        this.silence = silence;
        remotes = homes.remotes();
        joinings = homes.joinings();
        mirroring = homes.mirroring();
        startedAt = clock.getAsLong();
    }

    /** How many homes on other nodes a page of an extent is written to, without one that joins. */
    public int count(int extent) {
        int count = 0;
        for (int copy = 0; copy < homes.copies(extent); copy++) {
            count += homes.home(extent, copy) != null ? 1 : 0;
        }
        return count;
    }

    /**
     * The home that joins an extent and gets its WRITEs now; null if there is none. One whose link is down, or that has
     * not answered for long, gets none from now on.
     */
    @Nullable
    public Joining joining(int extent) {
        Joining joining = joinings.of(extent);
        if (joining == null || !joining.isWritten()) {
            return null;
        }
        Home on = joining.home();
        if (on != null && joining.state() == Joining.State.COPYING && isAway(on)) {
            joining.fail();
            return null;
        }
        return joining;
    }

    /** A WRITE of pages of one extent begins. */
    public void begin(int extent, int page, int count) {
        Joining joining = joinings.of(extent);
        if (joining != null) {
            joining.note(page, count);
        }
    }

    /** Whether the link of a home is down, or it has not answered for the time after which it must be dropped. */
    public boolean isAway(Home one) {
        return isDown(one) || isSilent(one);
    }

    /** A link that is switched to another device takes nothing for a moment, and is not down. */
    private static boolean isDown(Home one) {
        return !one.isUp() && !one.link().isSwitching();
    }

    private boolean isSilent(Home one) {
        return one.isQuietFor(mirroring.dropNanos(), silence.now());
    }

    /**
     * Whether an extent has homes, and all of them take WRITEs now. A home of several that does not is reported, so
     * that it is dropped, if another one does.
     *
     * @param most pages that may be on their way to each
     */
    public boolean takeWrites(int extent, int most) {
        if (!homes.isAllocated(extent)) {
            return false;
        }
        boolean all = true;
        for (int copy = 0; copy < homes.copies(extent); copy++) {
            Home one = homes.home(extent, copy);
            if (one == null) {
                continue;
            }
            report(extent, copy, one);
            all &= one.isUp() && one.writing() < most && remotes.mayTransfer(one);
        }
        return all;
    }

    /** Whether an extent has homes to be written to, and all of them on other nodes answer. */
    public boolean doAllAnswer(int extent) {
        if (!homes.isAllocated(extent)) {
            return false;
        }
        boolean all = true;
        for (int copy = 0; copy < homes.copies(extent); copy++) {
            Home one = homes.home(extent, copy);
            if (one != null) {
                report(extent, copy, one);
                all &= remotes.answers(one);
            }
        }
        return all;
    }

    /** Reports a home of several whose link is down, or that has not answered for long. */
    private void report(int extent, int copy, Home one) {
        if (homes.copies(extent) > 1) {
            if (isDown(one)) {
                suspect(extent, copy, false);
            } else if (isSilent(one)) {
                suspect(extent, copy, true);
            }
        }
    }

    /**
     * Reports a home that does not take WRITEs, if another home of the extent does and this one had time to come up.
     * That its link is down says nothing while this process has not had that time since it stood still, or the link is
     * being switched.
     */
    public void suspect(int extent, int copy, boolean silent) {
        Home one = homes.home(extent, copy);
        long now = clock.getAsLong();
        if (one == null
                || (one.link().connections() == 0 && now - startedAt < FailureDetector.FIRST_LINK_NANOS)
                || (!silent && mayComeBack(one))
                || !isAnotherWell(extent, one)
                || !one.suspect(now, FailureDetector.REPEAT_NANOS)) {
            return;
        }
        mirroring.suspect(homes.name(extent, copy), homes.incarnation(extent, copy), silent);
    }

    /** Whether the link of a home is not up for a reason that is none of the home's. */
    private boolean mayComeBack(Home one) {
        return one.link().isSwitching() || silence.hasStoodStillWithin(mirroring.dropNanos());
    }

    private boolean isAnotherWell(int extent, Home than) {
        for (int copy = 0; copy < homes.copies(extent); copy++) {
            Home one = homes.home(extent, copy);
            if (one != than && !homes.isLost(extent, copy) && (one == null || remotes.answers(one))) {
                return true;
            }
        }
        return false;
    }
}
