package io.farpage.agent.data.pager.evict;

import io.farpage.agent.data.pager.home.Homes;
import io.farpage.agent.data.pager.home.WrittenHomes;
import io.farpage.agent.data.pager.memory.AddressSpace;
import io.farpage.agent.data.pager.memory.PagerContext;
import io.farpage.agent.data.pager.page.GuestLayout;
import io.farpage.agent.data.pager.page.PageTable;
import io.farpage.agent.data.pager.page.PagerOptions;
import io.farpage.agent.data.pager.transfer.Transfer;
import io.farpage.agent.data.pager.transfer.Transfers;
import io.farpage.agent.data.shard.FetchStatus;
import java.lang.invoke.VarHandle;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes what a guest has left to its homes once its VMM has ended: dirty pages, and zeros where a home holds an older
 * version. The memory file outlives the VMM, and is no longer written to.
 *
 * <p>Each extent has its own cursor, so that a home that does not answer delays only its own pages. A failed write is
 * repeated until no page has reached a home for the time of the deadline, which does not run while no home has room for
 * pages of a thin space. One duty cycle examines a bounded number of
 * pages.
 */
public final class Flush {
    private static final Logger log = LoggerFactory.getLogger(Flush.class);
    /** Pages that one duty cycle examines, and pages that it writes. */
    private static final int MAX_EXAMINED = 32_768;

    private static final int MAX_WRITES = 8 * PagerOptions.MAX_WRITE_RUN;

    private final String space;
    private final PageTable table;
    private final GuestLayout layout;
    private final Homes homes;
    private final WrittenHomes writtenHomes;
    private final Transfers transfers;
    private final WriteBack writeBack;
    private final long deadlineNanos;
    private final LongSupplier clock;

    private int version = -1;
    private int[] cursor = {};
    private int extent;
    private int writes;
    private long savedAt;
    private boolean waits;
    private boolean busy = true;
    private boolean incomplete;
    private boolean givenUp;

    public Flush(AddressSpace memory, WriteBack writeBack) {
        this.writeBack = writeBack;
        table = memory.table();
        layout = memory.layout();
        PagerContext context = memory.context();
        space = context.space();
        homes = context.homes();
        writtenHomes = context.writtenHomes();
        transfers = context.transfers();
        deadlineNanos = context.options().flushDeadline().toNanos();
        clock = context.clock();
    }

    /** Whether all writes were started and none has to be repeated. */
    public boolean isDone() {
        for (int i = 0; i < cursor.length; i++) {
            if (cursor[i] < homes.endPage(i)) {
                return false;
            }
        }
        return version == homes.version();
    }

    /** Whether everything is at its home, provided that no transfer is under way. */
    public boolean isComplete() {
        return !incomplete && !homes.isAnyLost();
    }

    /** Whether the flush can continue without a completion. */
    public boolean isBusy() {
        return busy;
    }

    /** Runs a duty cycle: starts writes while slots and frames last. Returns the amount of work. */
    public int doWork() {
        if (version != homes.version()) {
            begin();
        }
        if (homes.mayWaitForRoom()) {
            savedAt = clock.getAsLong();
        }
        if (clock.getAsLong() - savedAt > deadlineNanos && !isDone()) {
            abandon();
        }
        writes = 0;
        int examined = 0;
        int extents = cursor.length;
        for (int i = 0; i < extents && examined < MAX_EXAMINED && writes < MAX_WRITES; i++) {
            examined += save(extent, MAX_EXAMINED - examined);
            extent = extent + 1 == extents ? 0 : extent + 1;
        }
        busy = examined > 0;
        return examined;
    }

    private void begin() {
        if (version < 0) {
            savedAt = clock.getAsLong();
        }
        version = homes.version();
        cursor = new int[homes.extents()];
        for (int i = 0; i < cursor.length; i++) {
            cursor[i] = homes.firstPage(i);
        }
        extent = 0;
    }

    private void abandon() {
        incomplete = true;
        givenUp = true;
        for (int i = 0; i < cursor.length; i++) {
            if (cursor[i] < homes.endPage(i)) {
                log.error(
                        "space {}: no page has reached a home for {} s (guest.flush_deadline); pages {} to {} that the"
                                + " guest left are not written to their home {}",
                        space,
                        deadlineNanos / 1_000_000_000L,
                        cursor[i],
                        homes.endPage(i) - 1,
                        homes.name(i));
                cursor[i] = homes.endPage(i);
            }
        }
    }

    /** Starts to write the stale pages of an extent. Returns how many pages were examined. */
    private int save(int of, int most) {
        int from = cursor[of];
        int end = homes.endPage(of);
        if (homes.isLost(of)) {
            cursor[of] = end;
            return end > from ? 1 : 0;
        }
        int until = from + Math.min(most, end - from);
        int examined = 0;
        while (cursor[of] < until && writes < MAX_WRITES) {
            int page = table.nextUnsaved(cursor[of], until);
            if (page < until && isStale(page)) {
                int written = table.has(page, PageTable.WRITING) ? 0 : write(of, page);
                examined += page - cursor[of] + written;
                cursor[of] = page + written;
                writes += written;
                if (written == 0) {
                    return examined;
                }
            } else if (page < until && table.has(page, PageTable.WRITING)) {
                examined += page - cursor[of];
                cursor[of] = page;
                return examined;
            } else {
                int next = Math.min(until, page + 1);
                examined += next - cursor[of];
                cursor[of] = next;
            }
        }
        return examined;
    }

    /** Whether the home holds an older version of the page. */
    private boolean isStale(int page) {
        return switch (table.state(page)) {
            case PageTable.DIRTY -> true;
            case PageTable.ZERO -> table.has(page, PageTable.HAS_REMOTE_COPY);
            default -> false;
        };
    }

    /** Starts to write a run of pages. Returns how many, 0 if slots or frames run short or the link is down. */
    private int write(int of, int first) {
        if (!writtenHomes.takeWrites(of, Integer.MAX_VALUE)) {
            return 0;
        }
        int count = 1;
        int reach = homes.contiguous(of, first, writeBack.maxRun());
        while (count < reach && isStale(first + count) && !table.has(first + count, PageTable.WRITING)) {
            count++;
        }
        count = writeBack.acquire(first, count);
        if (count == 0) {
            return 0;
        }
        int filled = fill(first, count);
        if (filled < count) {
            writeBack.release(filled, count - filled);
        }
        if (filled == 0) {
            // The home keeps an older version, which is better than none.
            incomplete = true;
            return 1;
        }
        for (int page = first; page < first + filled; page++) {
            table.set(page, PageTable.HAS_REMOTE_COPY);
        }
        // A process that adopts the table must know of every page that a home may have, also of one that the memory
        // file does not have, which it takes for zeros.
        VarHandle.storeStoreFence();
        return switch (writeBack.write(Transfer.Kind.FLUSH, first, filled, 0)) {
            case NO_SLOT -> {
                writeBack.release(0, filled);
                yield 0;
            }
            case DONE -> {
                savedAt = clock.getAsLong();
                yield filled;
            }
            case STARTED -> {
                mark(first, filled);
                yield filled;
            }
        };
    }

    private void mark(int first, int count) {
        for (int page = first; page < first + count; page++) {
            table.set(page, PageTable.WRITING);
            if (table.state(page) == PageTable.DIRTY) {
                table.setState(page, PageTable.EVICTING);
            }
        }
    }

    /** Fills staging frames. Returns for how many pages. */
    private int fill(int first, int count) {
        for (int i = 0; i < count; i++) {
            if (table.state(first + i) == PageTable.ZERO) {
                writeBack.zero(i);
            } else if (writeBack.read(first + i, i, 1) != layout.pageBytes()) {
                return i;
            }
        }
        return count;
    }

    /**
     * Completes a write, its own or one that the evictor started before the guest ended, and ends the transfer. If the
     * evictor began a write before the guest gave the page up, the home has the older bytes, and the zeros are still to
     * be written.
     */
    public void written(Transfer write, FetchStatus status) {
        boolean ok = status == FetchStatus.OK;
        boolean own = write.kind() == Transfer.Kind.FLUSH;
        int first = write.first();
        for (int page = first; page < first + write.count(); page++) {
            table.clear(page, PageTable.WRITING);
            if (table.state(page) == PageTable.EVICTING) {
                table.setState(page, ok ? PageTable.CLEAN : PageTable.DIRTY);
            } else if (ok && own && table.state(page) == PageTable.ZERO) {
                table.clear(page, PageTable.HAS_REMOTE_COPY);
            }
        }
        if (ok) {
            savedAt = clock.getAsLong();
        } else {
            again(first, status);
        }
        transfers.end(write);
    }

    private void again(int first, FetchStatus status) {
        if (status == FetchStatus.CLOSED || givenUp) {
            incomplete = true;
            return;
        }
        if (version == homes.version()) {
            int of = homes.extent(first);
            cursor[of] = Math.min(cursor[of], first);
        }
        if (!waits) {
            waits = true;
            log.warn(
                    "space {}: page {} and more that the guest left are not written to their home yet: {}; trying"
                            + " again for {} s (guest.flush_deadline)",
                    space,
                    first,
                    status,
                    deadlineNanos / 1_000_000_000L);
        }
    }
}
