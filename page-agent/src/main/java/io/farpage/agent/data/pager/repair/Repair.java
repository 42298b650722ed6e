package io.farpage.agent.data.pager.repair;

import io.farpage.agent.data.pager.home.Home;
import io.farpage.agent.data.pager.home.Homes;
import io.farpage.agent.data.pager.home.Joining;
import io.farpage.agent.data.pager.home.JoiningHomes;
import io.farpage.agent.data.pager.home.WrittenHomes;
import io.farpage.agent.data.pager.memory.AddressSpace;
import io.farpage.agent.data.pager.memory.PagerContext;
import io.farpage.agent.data.pager.memory.PagerCounters;
import io.farpage.agent.data.pager.page.PageTable;
import io.farpage.agent.data.pager.page.PagerOptions;
import io.farpage.agent.data.pager.transfer.Staging;
import io.farpage.agent.data.pager.transfer.Transfer;
import io.farpage.agent.data.pager.transfer.Transfers;
import io.farpage.agent.data.shard.FailureDetector;
import io.farpage.agent.data.shard.FetchStatus;
import io.farpage.agent.data.shard.KeyUse;
import java.util.Objects;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Brings a home that joins an extent up to date: notes the WRITEs that are under way before the home pulls the pages,
 * and copies the pages to it that it may lack after that. A run of pages is read from a home to staging frames and
 * written to the joining home. Meanwhile its pages are marked as {@link PageTable#WRITING}, so no write-back of them
 * begins, and a page that is being written back is not copied before that has ended: a copy never overtakes a WRITE.
 * Every noted page is copied, in whatever state it is now, since the home may have an earlier version even of a page
 * that is zeros now, or of one that becomes zeros without a WRITE.
 *
 * <p>Few runs are copied at a time, at a rate that {@code Mirroring.repairBytesPerSecond} gives. The shard's thread
 * only; allocates nothing.
 */
public final class Repair {
    /** Runs that are copied at a time. */
    private static final int RUNS = 2;

    /** Pages that one duty cycle examines. */
    private static final int MAX_EXAMINED = 4096;

    /** Pages that one duty cycle examines, eight at once, for WRITEs that a home which pulls may read too early. */
    static final int MAX_NOTED = 1 << 16;

    /** What may be copied at once after a pause, as time at the given rate. */
    private static final long BURST_NANOS = 10_000_000L;

    private final PageTable table;
    private final Homes homes;
    private final WrittenHomes writtenHomes;
    private final JoiningHomes joinings;
    private final Transfers transfers;
    private final Staging staging;
    private final PagerCounters counters;
    private final LongSupplier clock;
    private final int maxRun;
    private final double nanosPerByte;
    private final Run[] runs = new Run[RUNS];
    private int underWay;
    private long nextAt;
    /** Nothing could be started in the latest duty cycle although the rate allows it. */
    private boolean stalled;

    /** Pages that the duty cycle may still examine for WRITEs. */
    private int notable;

    private boolean ended;

    /** A run of pages that is being copied. */
    private static final class Run {
        private @Nullable Joining to;
        private @Nullable Transfer transfer;
        private int first;
        private int count;
        private int frame;
    }

    /** @param memory of the VMM */
    public Repair(AddressSpace memory) {
        table = memory.table();
        PagerContext context = memory.context();
        homes = context.homes();
        writtenHomes = context.writtenHomes();
        joinings = homes.joinings();
        transfers = context.transfers();
        staging = context.staging();
        counters = context.counters();
        clock = context.clock();
        nanosPerByte = 1e9 / homes.mirroring().repairBytesPerSecond();
        int burst = (int) Math.min(PagerOptions.MAX_WRITE_RUN, BURST_NANOS / nanosPerByte / staging.pageBytes());
        maxRun = Math.max(1, Math.min(burst, staging.maxRun()));
        for (int i = 0; i < RUNS; i++) {
            runs[i] = new Run();
        }
        nextAt = clock.getAsLong();
    }

    /** Whether the copying can continue without a completion and without time passing. */
    public boolean isBusy() {
        if (joinings.count() == 0 || ended) {
            return false;
        }
        return mustNote() || (!stalled && underWay < RUNS && clock.getAsLong() - nextAt >= 0 && hasCopying());
    }

    private boolean mustNote() {
        for (int i = 0; i < joinings.count(); i++) {
            if (joinings.at(i).mustNote()) {
                return true;
            }
        }
        return false;
    }

    private boolean hasCopying() {
        for (int i = 0; i < joinings.count(); i++) {
            if (joinings.at(i).state() == Joining.State.COPYING) {
                return true;
            }
        }
        return false;
    }

    /** Whether time alone brings work. */
    public boolean waitsForTime() {
        return joinings.count() > 0 && !ended;
    }

    /** The guest has ended: nothing more is copied. */
    public void end() {
        ended = true;
    }

    /** Runs a duty cycle. Returns the amount of work. */
    public int doWork() {
        if (joinings.count() == 0 || ended) {
            return 0;
        }
        long now = clock.getAsLong();
        int work = 0;
        stalled = true;
        notable = MAX_NOTED;
        for (int i = 0; i < joinings.count(); i++) {
            work += step(joinings.at(i), now);
        }
        return work;
    }

    private int step(Joining joining, long now) {
        return switch (joining.state()) {
            case PULLING -> letPull(joining, now);
            case WAITING -> begin(joining, now);
            case COPYING -> copy(joining, now);
            case READY -> tell(joining, now, joining.home() != null && writtenHomes.isAway(joining.home()));
            case FAILED -> tell(joining, now, true);
        };
    }

    /**
     * Notes the WRITEs that are under way, so that from then on all are noted, and lets the home begin. A large extent
     * takes several duty cycles.
     */
    private int letPull(Joining joining, long now) {
        if (joining.mustNote()) {
            int from = joining.notedUntil();
            int until = from + Math.min(notable, joining.end() - from);
            for (int page = table.nextWriting(from, until); page < until; page = table.nextWriting(page + 1, until)) {
                joining.note(page, 1);
            }
            joining.noted(until);
            notable -= until - from;
        }
        if (joining.mustNote()) {
            return 1;
        }
        if (joining.awaitsPull() && joining.tell(now)) {
            homes.mirroring().mayPull(joining.origin(), joining.epoch());
        }
        return 0;
    }

    private int begin(Joining joining, long now) {
        if (isReachable(joining)) {
            joining.begin();
            return 1;
        }
        if (now - joining.since() > FailureDetector.FIRST_LINK_NANOS) {
            joining.fail();
        }
        return 0;
    }

    private int copy(Joining joining, long now) {
        Home home = joining.home();
        boolean isAway = home != null && writtenHomes.isAway(home);
        if (isAway || (joining.left() > 0 && homes.isLost(homes.extent(joining.first())))) {
            joining.fail();
            return 1;
        }
        int work = copySome(joining, now);
        if (joining.left() == 0) {
            joining.ready();
            work++;
        }
        return work;
    }

    private int tell(Joining joining, long now, boolean failed) {
        if (joining.tell(now)) {
            if (failed) {
                homes.mirroring().joiningFailed(joining.node(), joining.incarnation());
            } else {
                homes.mirroring().copied(joining.origin(), joining.epoch());
            }
        }
        return 0;
    }

    /** Whether the home is linked and has granted the frames of the extent. */
    private boolean isReachable(Joining joining) {
        Home home = joining.home();
        if (home == null) {
            return homes.isOwnPool(joining.incarnation());
        }
        int bytes = staging.pageBytes();
        return home.isUp()
                && home.link().isGranted(KeyUse.ATTACHMENT, joining.offset(joining.first()), bytes)
                && home.link().isGranted(KeyUse.ATTACHMENT, joining.offset(joining.end() - 1), bytes);
    }

    private int copySome(Joining joining, long now) {
        int work = 0;
        while (underWay < RUNS && now - nextAt >= 0 && joining.state() == Joining.State.COPYING) {
            int started = start(joining);
            if (started == 0) {
                break;
            }
            stalled = false;
            nextAt = Math.max(nextAt, now - BURST_NANOS)
                    + (long) (started * (double) staging.pageBytes() * nanosPerByte);
            work++;
        }
        return work;
    }

    /** Starts to copy the next run. Returns how many pages, 0 if none can be copied now. */
    private int start(Joining joining) {
        for (int examined = 0; examined < MAX_EXAMINED; examined++) {
            int page = joining.next();
            if (page < 0) {
                return 0;
            }
            if (table.has(page, PageTable.WRITING)) {
                continue;
            }
            if (!isNeeded(page)) {
                joining.has(page, 1);
                continue;
            }
            int count = 1;
            while (count < maxRun && page + count < joining.end() && isCopied(joining, page + count)) {
                count++;
            }
            int started = start(joining, page, count);
            joining.passed(page + Math.max(0, started - 1));
            return started;
        }
        stalled = false;
        return 0;
    }

    private boolean isCopied(Joining joining, int page) {
        return joining.lacks(page) && !table.has(page, PageTable.WRITING) && isNeeded(page);
    }

    /** Whether the homes have a version of a page: one that all of them have lost is as lost at the joining home. */
    private boolean isNeeded(int page) {
        return table.state(page) != PageTable.LOST;
    }

    private int start(Joining joining, int page, int most) {
        int extent = homes.extent(page);
        int copy = homes.reader(extent);
        int part = Staging.reads(homes.home(extent, copy));
        int count = most;
        int frame = staging.allocate(part, count);
        if (frame == Staging.NONE && count > 1) {
            count = 1;
            frame = staging.allocate(part, count);
        }
        if (frame == Staging.NONE) {
            return 0;
        }
        Run run = free();
        run.to = joining;
        run.first = page;
        run.count = count;
        run.frame = frame;
        if (homes.home(extent, copy) == null) {
            hold(run);
            staging.copyFromExported(frame, count, homes.offset(extent, copy, page));
            write(run, joining);
            return count;
        }
        Transfer read = transfers.inUse() < transfers.capacity() / 2 || transfers.inUse() == 0
                ? transfers.beginCopyRead(extent, copy, page, count, frame)
                : null;
        if (read == null) {
            staging.free(frame, count);
            run.to = null;
            return 0;
        }
        hold(run);
        run.transfer = read;
        return count;
    }

    private void hold(Run run) {
        underWay++;
        for (int page = run.first; page < run.first + run.count; page++) {
            table.set(page, PageTable.WRITING);
        }
    }

    private Run free() {
        for (Run run : runs) {
            if (run.to == null) {
                return run;
            }
        }
        throw new IllegalStateException("all runs are under way");
    }

    /** Writes a run to the joining home. If no slot is free for that, the run is copied again later. */
    private void write(Run run, Joining to) {
        run.transfer = null;
        if (to.home() == null) {
            staging.copyToExported(run.frame, run.count, to.offset(run.first));
            copied(run, to);
            staging.free(run.frame, run.count);
            release(run);
            return;
        }
        Transfer write = transfers.beginCopyWrite(to, run.first, run.count, run.frame);
        if (write == null) {
            staging.free(run.frame, run.count);
            release(run);
        } else {
            run.transfer = write;
        }
    }

    private void copied(Run run, Joining to) {
        to.has(run.first, run.count);
        counters.repaired().add(run.count);
    }

    private void release(Run run) {
        for (int page = run.first; page < run.first + run.count; page++) {
            table.clear(page, PageTable.WRITING);
        }
        run.to = null;
        run.transfer = null;
        underWay--;
    }

    /** A transfer of a copy has completed. */
    public void completed(Transfer transfer, FetchStatus status) {
        Run run = of(transfer);
        Joining to = Objects.requireNonNull(run.to);
        boolean isCurrent = !ended && joinings.of(homes.extent(run.first)) == to && to.state() == Joining.State.COPYING;
        if (transfer.kind() == Transfer.Kind.COPY_READ && status == FetchStatus.OK && isCurrent) {
            transfers.endKeepingFrames(transfer);
            write(run, to);
            return;
        }
        if (transfer.kind() == Transfer.Kind.COPY_WRITE) {
            if (status == FetchStatus.OK) {
                copied(run, to);
            } else {
                to.fail();
            }
        }
        transfers.end(transfer);
        release(run);
    }

    private Run of(Transfer transfer) {
        for (Run run : runs) {
            if (run.transfer == transfer) {
                return run;
            }
        }
        throw new IllegalStateException("no run is under way in slot " + transfer.slot());
    }
}
