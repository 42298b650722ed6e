package io.farpage.agent.data.pager.evict;

import io.farpage.agent.data.pager.evict.FreezeStatus.State;
import io.farpage.agent.data.pager.fault.Residency;
import io.farpage.agent.data.pager.home.Homes;
import io.farpage.agent.data.pager.home.WrittenHomes;
import io.farpage.agent.data.pager.memory.AddressSpace;
import io.farpage.agent.data.pager.memory.FrozenPages;
import io.farpage.agent.data.pager.memory.PagerContext;
import io.farpage.agent.data.pager.memory.Pins;
import io.farpage.agent.data.pager.page.GuestLayout;
import io.farpage.agent.data.pager.page.PageSet;
import io.farpage.agent.data.pager.page.PageTable;
import io.farpage.agent.data.pager.page.PagerOptions;
import io.farpage.agent.data.pager.transfer.Transfer;
import io.farpage.agent.data.pager.transfer.Transfers;
import io.farpage.agent.data.shard.FetchStatus;
import java.lang.invoke.VarHandle;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Brings the homes to hold all pages of a guest as they are at one moment, while the guest goes on. At that moment the
 * VMM is paused, and dirty pages are write-protected. They are written home one by one; a page that the guest writes to
 * before is copied first. Clean pages are at their homes as they are. Nothing else is written home from the moment on
 * until {@link #end}, so dirty pages stay in the guest's memory meanwhile, above its limit.
 *
 * <p>{@link #prepare} protects dirty pages before, while the guest runs. At the moment those are left to be protected
 * that it has written to since, so that the pause is shorter.
 *
 * <p>What the homes get is what they would get anyway, later or earlier: a snapshot that fails has changed nothing.
 * It fails if a page of the moment is lost, such as one that the guest gives up before it was copied, or whose WRITE
 * failed after the guest has written to it.
 *
 * <p>The shard's thread only, except {@link #status}.
 */
public final class Freeze {
    /** Why nothing of a guest can be frozen whose memory is private, or cannot be protected. */
    public static final String NOT_EVICTABLE = "its memory cannot be evicted";

    /** Pages that one duty cycle protects: some milliseconds in which the shard serves no other guest. */
    private static final int MAX_PROTECTED = 32_768;

    /** The same while the guest runs, which may wait for the next cycle. */
    private static final int MAX_PREPARED = 4096;

    /** How long after a preparation the moment may come. */
    private static final long PREPARED_NANOS = TimeUnit.SECONDS.toNanos(10);

    /** Pages that one duty cycle writes, while threads may wait for the next. */
    private static final int MAX_WRITES = 2 * PagerOptions.MAX_WRITE_RUN;

    /** How long a thread may wait to write to a page. */
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final PageTable table;
    private final GuestLayout layout;
    private final AddressSpace memory;
    private final Residency residency;
    private final PageOut pageOut;
    private final WriteBack writeBack;
    private final FrozenPages frozen;
    private final Homes homes;
    private final WrittenHomes writtenHomes;
    private final Transfers transfers;
    private final Pins pins;
    private final LongSupplier clock;
    private final boolean isSealed;
    private final long deadlineNanos;

    private State state = State.OFF;
    private boolean isProtecting;
    /** Whether the snapshot that is prepared was given up. */
    private boolean isGivenUp;

    private int cursor;
    private long inspection;
    private int writing;
    private int pages;
    private int version;
    private long progressAt;
    /** Since when a thread waits, or later. */
    private long waitingSince;

    private boolean isBlocked;
    private volatile FreezeStatus status = FreezeStatus.OFF;

    public Freeze(AddressSpace memory, PageOut pageOut, WriteBack writeBack, Residency residency) {
        this.residency = residency;
        this.memory = memory;
        this.pageOut = pageOut;
        this.writeBack = writeBack;
        table = memory.table();
        layout = memory.layout();
        PagerContext context = memory.context();
        frozen = context.frozen();
        homes = context.homes();
        writtenHomes = context.writtenHomes();
        transfers = context.transfers();
        pins = context.pins();
        clock = context.clock();
        isSealed = context.sealing().isOn();
        deadlineNanos = context.options().flushDeadline().toNanos();
    }

    /** How far it is. Any thread. */
    public FreezeStatus status() {
        return status;
    }

    /** Whether a snapshot is being made, or has failed and was not ended. */
    public boolean isOn() {
        return state != State.OFF;
    }

    /** Whether nothing may be written to the homes, whatever happens. */
    public boolean isHandingOver() {
        return state == State.HANDING_OVER;
    }

    /** Whether nothing is left to be written for the snapshot: copies to homes that join have to end, too. */
    public boolean isSaved() {
        return state == State.SAVED || state == State.HANDING_OVER;
    }

    /** Whether it can continue without a completion. */
    public boolean isBusy() {
        return state == State.PREPARING
                || (state == State.FREEZING && isProtecting)
                || (state == State.SAVING && (!isBlocked || frozen.wanted().size() > 0));
    }

    /** Whether it has to look again in a moment: at a deadline. */
    public boolean waitsForTime() {
        return state == State.FREEZING || state == State.SAVING;
    }

    private boolean isPreparing() {
        return state == State.PREPARING || state == State.PREPARED;
    }

    /** Whether a preparation ends: it was given up, or no moment has followed it for some ten seconds. */
    public boolean isPreparedInVain() {
        return isPreparing() && (isGivenUp || clock.getAsLong() - progressAt > PREPARED_NANOS);
    }

    /**
     * Protects dirty pages while the guest runs, for a moment that follows within some seconds. May be repeated.
     *
     * @return why that is not possible; null if it has begun
     */
    public @Nullable String prepare() {
        String obstacle = obstacle();
        if (obstacle != null) {
            return obstacle;
        }
        pageOut.abandon();
        frozen.prepare();
        isGivenUp = false;
        cursor = 0;
        pages = 0;
        progressAt = clock.getAsLong();
        state = State.PREPARING;
        publish();
        return null;
    }

    /**
     * The moment begins: the VMM is paused until the state is {@link State#SAVING}. Evictions that are under way end
     * first.
     *
     * @return why that is not possible; null if it has begun
     */
    public @Nullable String begin() {
        String obstacle = obstacle();
        if (obstacle != null) {
            return obstacle;
        }
        pageOut.abandon();
        frozen.begin();
        isProtecting = true;
        cursor = 0;
        pages = frozen.resident().size();
        version = homes.version();
        progressAt = clock.getAsLong();
        waitingSince = progressAt;
        state = State.FREEZING;
        publish();
        return null;
    }

    private @Nullable String obstacle() {
        if (!residency.isEvictable()) {
            return NOT_EVICTABLE;
        }
        if (isSealed) {
            return "its pages are encrypted";
        }
        if (state != State.OFF && !isPreparing()) {
            return "another snapshot of it is being made";
        }
        return homes.isAnyLost() || table.count(PageTable.LOST) > 0 ? "pages of it are lost" : null;
    }

    /** The snapshot is not made, unless it is being handed over. */
    public void fail(String why) {
        isGivenUp |= isPreparing();
        if (state != State.HANDING_OVER) {
            frozen.fail(why);
        }
    }

    /** Runs a duty cycle. Returns the amount of work. */
    public int doWork() {
        if (state == State.PREPARING) {
            return prepareSome();
        }
        if (state != State.FREEZING && state != State.SAVING && state != State.SAVED) {
            return 0;
        }
        check();
        if (frozen.failure() != null) {
            giveUp();
            return 1;
        }
        int work = state == State.FREEZING ? freeze() : state == State.SAVING ? save() : 0;
        publish();
        return work;
    }

    private void check() {
        if (version != homes.version()) {
            version = homes.version();
            cursor = isProtecting ? cursor : 0;
            if (homes.isAnyLost()) {
                frozen.fail("pages are lost with their homes");
            }
        }
        long now = clock.getAsLong();
        if (state != State.SAVED && now - progressAt > deadlineNanos) {
            frozen.fail(
                    homes.mayWaitForRoom()
                            ? "no home has room for the pages"
                            : "no page has reached a home for %d s".formatted(deadlineNanos / 1_000_000_000L));
        }
        waitingSince = frozen.wanted().size() == 0 ? now : waitingSince;
        if (now - waitingSince > PATIENCE_NANOS) {
            frozen.fail("the guest has waited for %d ms to write to a page that no home takes"
                    .formatted(PATIENCE_NANOS / 1_000_000));
        }
    }

    private void giveUp() {
        String why = String.valueOf(frozen.failure());
        frozen.end();
        state = State.FAILED;
        status = new FreezeStatus(state, pages, 0, why);
    }

    /** Pages that are being written home are left out; if one becomes dirty meanwhile, it stays so. */
    private int prepareSome() {
        int until = cursor + Math.min(MAX_PREPARED, table.pages() - cursor);
        while (cursor < until) {
            cursor = table.nextUnsaved(cursor, until);
            cursor += cursor < until ? prepare(cursor, until) : 0;
        }
        if (cursor == table.pages()) {
            state = State.PREPARED;
            progressAt = clock.getAsLong();
        }
        publish();
        return 1;
    }

    /** Protects pages from the first on, if it can. Returns how many are done with, one at least. */
    private int prepare(int first, int until) {
        int count = isWhole(first) ? memory.protection().protect(first, whole(first, until)) : 0;
        for (int page = first; page < first + count; page++) {
            frozen.prepared().add(page);
        }
        pages += count;
        return Math.max(1, count);
    }

    private boolean isWhole(int page) {
        return table.state(page) == PageTable.DIRTY && !table.isPartlyRemoved(page);
    }

    /** How many dirty pages lie one after the other from a dirty one on. */
    private int whole(int first, int until) {
        int count = 1;
        while (first + count < until && isWhole(first + count)) {
            count++;
        }
        return count;
    }

    private int freeze() {
        if (isProtecting) {
            return pageOut.isIdle() && writing == 0 ? protect() : 0;
        }
        // The shard's thread leaves the CPU to the inspection, which wakes it.
        if (!pins.passed(inspection)) {
            return 0;
        }
        state = State.SAVING;
        cursor = 0;
        progressAt = clock.getAsLong();
        return 1;
    }

    /** Protects dirty pages. Pages of zeros whose homes have older versions need no protection. */
    private int protect() {
        int until = cursor + Math.min(MAX_PROTECTED, table.pages() - cursor);
        while (cursor < until && frozen.failure() == null) {
            cursor = Math.min(until, frozen.resident().nextAbsent(cursor));
            int next = frozen.resident().next(cursor);
            int end = next < 0 ? until : Math.min(until, next);
            cursor = table.nextUnsaved(cursor, end);
            int taken = cursor < end ? take(cursor, end) : 0;
            if (cursor < end && taken == 0) {
                return 0;
            }
            cursor += taken;
        }
        if (cursor == table.pages()) {
            isProtecting = false;
            inspection = pins.inspect();
        }
        return 1;
    }

    /**
     * Takes pages of one state that are not saved, or are being copied to a home that joins. Returns how many; 0 if
     * that has to be repeated.
     */
    private int take(int first, int until) {
        int found = table.state(first);
        if (found == PageTable.ZERO && table.has(first, PageTable.HAS_REMOTE_COPY)) {
            frozen.zeros().add(first);
            pages++;
        }
        if (found != PageTable.DIRTY) {
            return 1;
        }
        if (table.isPartlyRemoved(first)) {
            frozen.fail("the guest has just given up a part of page " + first + "; try again");
            return 1;
        }
        int count = memory.protection().protect(first, whole(first, until));
        if (count == 0 && (layout.addressOf(first) == GuestLayout.NONE || !residency.isEvictable())) {
            frozen.fail("page " + first + " cannot be write-protected");
        }
        for (int page = first; page < first + count; page++) {
            frozen.resident().add(page);
        }
        pages += count;
        return count;
    }

    private int save() {
        int work = 0;
        for (int page = frozen.wanted().next(0);
                page >= 0;
                page = frozen.wanted().next(page + 1)) {
            if (frozen.holds(page) && write(page, 1, pageOut.maxWriting()) == 0) {
                break;
            }
            frozen.wanted().remove(page);
            waitingSince = clock.getAsLong();
            work++;
        }
        int written = sweep(frozen.resident(), MAX_WRITES);
        written += sweep(frozen.zeros(), MAX_WRITES - written);
        isBlocked = written == 0;
        if (left() == 0) {
            state = State.SAVED;
        }
        return work + written;
    }

    /** Begins to write pages of a set; extents whose homes take nothing now are passed over. */
    private int sweep(PageSet set, int most) {
        int written = 0;
        int page = set.next(0);
        while (page >= 0 && written < most) {
            // Half of what may be under way is left to pages that threads wait to write to.
            int under = pageOut.maxWriting() / 2;
            int now = set == frozen.zeros()
                    ? writeZeros(page, most - written, under)
                    : write(page, most - written, under);
            written += now;
            page = set.next(now > 0 ? page : homes.endPage(homes.extent(page)));
        }
        return written;
    }

    private int left() {
        return frozen.resident().size() + frozen.zeros().size() + writing;
    }

    /** How many pages of a set lie one after the other, and can be written at once. */
    private int run(PageSet set, int first, int most) {
        int reach = homes.contiguous(homes.extent(first), first, Math.min(most, writeBack.maxRun()));
        int count = 1;
        while (count < reach && set.contains(first + count) && !table.has(first + count, PageTable.WRITING)) {
            count++;
        }
        return count;
    }

    /** @param under pages that may be on their way to all homes */
    private boolean mayWrite(int page, int under) {
        int extent = homes.extent(page);
        int most = Math.max(1, under / Math.max(1, homes.remotes().named()));
        return !table.has(page, PageTable.WRITING) && writtenHomes.takeWrites(extent, most);
    }

    /** Copies pages to staging frames and begins to write them home. Returns how many; 0 if that is impossible now. */
    private int write(int first, int most, int under) {
        if (!mayWrite(first, under)) {
            return 0;
        }
        int count = writeBack.acquire(first, run(frozen.resident(), first, most));
        if (count == 0) {
            return 0;
        }
        if (writeBack.read(first, 0, count) != (long) count * layout.pageBytes()) {
            writeBack.release(0, count);
            frozen.fail("the memory file cannot be read");
            return 0;
        }
        for (int i = 0; i < count; i++) {
            if (writeBack.isZero(i) && !memory.isInFile(first + i)) {
                frozen.change(first + i, 1, "was removed by the VMM");
            }
        }
        if (frozen.failure() != null) {
            writeBack.release(0, count);
            return 0;
        }
        boolean isElided = isElidable(first, 0);
        int run = 1;
        while (run < count && isElidable(first + run, run) == isElided) {
            run++;
        }
        if (run < count) {
            writeBack.release(run, count - run);
        }
        if (isElided) {
            writeBack.release(0, run);
            saved(frozen.resident(), first, run);
            return run;
        }
        return post(Transfer.Kind.SNAPSHOT, first, run);
    }

    /** Whether a page holds zeros, as its homes do. */
    private boolean isElidable(int page, int index) {
        return !table.has(page, PageTable.HAS_REMOTE_COPY) && writeBack.isZero(index);
    }

    private int writeZeros(int first, int most, int under) {
        if (!table.has(first, PageTable.HAS_REMOTE_COPY)) {
            saved(frozen.zeros(), first, 1); // the homes have given its room back
            return 1;
        }
        if (!mayWrite(first, under)) {
            return 0;
        }
        int count = writeBack.acquire(first, run(frozen.zeros(), first, most));
        for (int i = 0; i < count; i++) {
            writeBack.zero(i);
        }
        return count == 0 ? 0 : post(Transfer.Kind.SNAPSHOT_OF_ZEROS, first, count);
    }

    private void saved(PageSet set, int first, int count) {
        for (int page = first; page < first + count; page++) {
            set.remove(page);
        }
        progressAt = clock.getAsLong();
    }

    private int post(Transfer.Kind kind, int first, int count) {
        for (int page = first; page < first + count; page++) {
            table.set(page, PageTable.HAS_REMOTE_COPY);
        }
        // A process that adopts the table must know of every page that a home may have.
        VarHandle.storeStoreFence();
        boolean isOfZeros = kind == Transfer.Kind.SNAPSHOT_OF_ZEROS;
        WriteBack.Outcome outcome = writeBack.write(kind, first, count, 0);
        if (outcome == WriteBack.Outcome.NO_SLOT) {
            writeBack.release(0, count);
            return 0;
        }
        for (int page = first; page < first + count; page++) {
            table.set(page, PageTable.WRITING);
            if (!isOfZeros) {
                table.setState(page, PageTable.EVICTING);
            }
        }
        saved(isOfZeros ? frozen.zeros() : frozen.resident(), first, count);
        if (outcome == WriteBack.Outcome.DONE) {
            completed(isOfZeros, first, count, true);
        } else {
            writing += count;
        }
        return count;
    }

    /** Completes a WRITE of this class, and ends its transfer: also of a snapshot that has failed since. */
    public void written(Transfer write, FetchStatus result) {
        int first = write.first();
        writing -= write.count();
        completed(
                write.kind() == Transfer.Kind.SNAPSHOT_OF_ZEROS,
                first,
                write.count(),
                result == FetchStatus.OK && !homes.isLost(homes.extent(first)));
        transfers.end(write);
    }

    /** While pages are protected, what completes is of an earlier snapshot that was given up. */
    private void completed(boolean isOfZeros, int first, int count, boolean isSaved) {
        progressAt = isSaved ? clock.getAsLong() : progressAt;
        boolean isMissing = !isSaved && state == State.SAVING;
        for (int page = first; page < first + count; page++) {
            table.clear(page, PageTable.WRITING);
            if (isOfZeros) {
                completedZeros(page, isSaved, isMissing);
            } else if (table.state(page) == PageTable.EVICTING) {
                table.setState(page, isSaved ? PageTable.CLEAN : PageTable.DIRTY);
                if (isMissing) {
                    frozen.resident().add(page);
                }
            } else if (isMissing) {
                frozen.fail("the WRITE of page %d failed after the guest had written to the page".formatted(page));
            }
        }
    }

    private void completedZeros(int page, boolean isSaved, boolean isMissing) {
        if (isMissing) {
            frozen.zeros().add(page);
        } else if (isSaved && table.state(page) == PageTable.ZERO) {
            table.clear(page, PageTable.HAS_REMOTE_COPY);
        }
    }

    /**
     * Nothing is written to the homes from now on until {@link #end}: they may be given to the snapshot.
     *
     * @return false if not all pages are saved, or a home that joins is still written to
     */
    public boolean handOver() {
        if (state == State.SAVED && frozen.failure() == null && !transfers.isAnyWrite()) {
            state = State.HANDING_OVER;
            publish();
        }
        return state == State.HANDING_OVER;
    }

    /** The snapshot is made, or given up: pages are written home again. */
    public void end() {
        frozen.end();
        state = State.OFF;
        status = FreezeStatus.OFF;
    }

    private void publish() {
        if (status.state() != state || status.left() != left()) {
            status = new FreezeStatus(state, pages, left(), "");
        }
    }
}
