package io.farpage.agent.data.pager.repair;

import io.farpage.agent.data.pager.home.Home;
import io.farpage.agent.data.pager.home.Homes;
import io.farpage.agent.data.pager.home.Joining;
import io.farpage.agent.data.pager.home.WrittenHomes;
import io.farpage.agent.data.pager.memory.PagerContext;
import io.farpage.agent.data.pager.memory.PagerCounters;
import io.farpage.agent.data.pager.transfer.Staging;
import io.farpage.agent.data.pager.transfer.Transfer;
import io.farpage.agent.data.pager.transfer.Transfers;
import io.farpage.agent.data.shard.SilenceClock;
import java.util.concurrent.TimeUnit;

/**
 * Watches the transfers of pages that have several homes. A READ that takes long is repeated at another home. A home
 * that leaves a WRITE unanswered for long is reported, so that it is dropped. What is under way to a home that was
 * dropped, or waits for one while another is up, is ended. What waits to be posted for pages that are lost, or no
 * longer this node's, is ended. The shard's thread only.
 */
public final class Mirrors {
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    private final Homes homes;
    private final WrittenHomes writtenHomes;
    private final Transfers transfers;
    private final Staging staging;
    private final PagerCounters counters;
    private final SilenceClock silence;
    private final long hedgeNanos;
    private final long dropNanos;
    private long lookedAt;
    private long changedAt;
    private int settled;
    private int watched;

    public Mirrors(PagerContext context) {
        homes = context.homes();
        writtenHomes = context.writtenHomes();
        transfers = context.transfers();
        staging = context.staging();
        counters = context.counters();
        silence = context.silence();
        hedgeNanos = homes.mirroring().hedgeNanos();
        dropNanos = homes.mirroring().dropNanos();
        settled = homes.version();
        watched = settled;
        lookedAt = silence.now() - PAUSE_NANOS;
    }

    /** Whether transfers that began under an earlier map may be under way. */
    public boolean isUnsettled() {
        return settled != homes.version();
    }

    /**
     * Runs a duty cycle, in which it looks at all transfers if a millisecond has passed or the map has changed. Returns
     * the amount of work.
     */
    public int doWork() {
        long now = silence.now();
        if (now - lookedAt < PAUSE_NANOS && watched == homes.version()) {
            return 0;
        }
        lookedAt = now;
        if (watched != homes.version()) {
            watched = homes.version();
            changedAt = now;
        }
        int work = 0;
        boolean isOldLeft = false;
        for (int slot = 0; slot < transfers.capacity(); slot++) {
            Transfer each = transfers.at(slot);
            if (!each.isInUse()) {
                continue;
            }
            boolean isOld = each.version() != watched;
            isOldLeft |= isOld;
            if (isOld && each.isUnderWay() && homes.isLost(homes.extent(each.first()))) {
                // The space may have passed to another node: its homes refuse what is posted from now on.
                transfers.withdraw(each.slot());
                continue;
            }
            if (each.isUnderWay() && (each.isMirrored() || each.version() != watched)) {
                work += each.isWrite() ? write(each, now) : read(each, now);
            }
        }
        if (!isOldLeft && settled != watched) {
            settled = watched;
            homes.mirroring().settled(homes.revision());
        }
        return work;
    }

    private int read(Transfer fetch, long now) {
        Home from = fetch.home();
        if (from == null) {
            return 0;
        }
        int extent = homes.extent(fetch.first());
        if (!homes.isHomeOf(extent, from)) {
            return maySoonEnd(from, now) ? 0 : giveUp(fetch);
        }
        if (fetch.isAbandoned() || fetch.twin() != null || !fetch.isMirrored()) {
            return 0;
        }
        int other = homes.otherReader(extent, from);
        if (other < 0 || homes.suspects().tried(fetch.first()) != 0) {
            return 0;
        }
        if (now - fetch.startedAt() < hedgeNanos || !fetch.isFetch()) {
            return 0;
        }
        from.markSlow();
        int frame = staging.allocate(Staging.reads(homes.home(extent, other)), fetch.count());
        if (frame == Staging.NONE) {
            return 0;
        }
        if (!transfers.hedge(fetch, other, frame)) {
            staging.free(frame, fetch.count());
            return 0;
        }
        counters.hedged().add(1);
        return 1;
    }

    private int write(Transfer write, long now) {
        Home to = write.home();
        if (to == null) {
            return 0;
        }
        int extent = homes.extent(write.first());
        if (!homes.isHomeOf(extent, to)) {
            return maySoonEnd(to, now) ? 0 : giveUp(write);
        }
        if (!write.isMirrored()) {
            return 0;
        }
        if (to.isQuietFor(dropNanos, now)) {
            for (int copy = 0; copy < homes.copies(extent); copy++) {
                if (homes.home(extent, copy) == to) {
                    writtenHomes.suspect(extent, copy, true);
                }
            }
            Joining joining = homes.joinings().of(extent);
            if (joining != null && joining.home() == to) {
                joining.fail();
            }
        }
        return 0;
    }

    /**
     * Whether a transfer with a home that was dropped is left to end by itself, since the home answers. Ending it fails
     * the link, which other extents may use: a home that is drained leaves one extent after the other.
     */
    private boolean maySoonEnd(Home dropped, long now) {
        return dropped.answers(now) && now - changedAt < dropNanos;
    }

    private int giveUp(Transfer transfer) {
        transfers.giveUp(transfer.slot(), "the home was dropped, or another one is up");
        return 1;
    }
}
