package io.farpage.agent.pager;

import io.farpage.agent.shard.FetchStatus;
import io.farpage.agent.shard.Fetcher;
import io.farpage.agent.shard.PeerLink;
import io.farpage.agent.uffd.GuestFile;
import io.farpage.pool.PagePool;
import io.farpage.pool.frames.FrameAllocator;
import java.lang.foreign.MemorySegment;

/**
 * Brings what is left of a guest's memory to its homes once its VMM has ended: dirty pages, and zeros where a home holds something older.
 * The memory file outlives the VMM, and nobody writes to it any more.
 */
final class Flush {
    private static final int MAX_RUN = 32;
    private static final int TRIES = 3;

    private final GuestFile file;
    private final PageTable table;
    private final GuestLayout layout;
    private final Homes homes;
    private final Fetcher fetcher;
    private final Transfers transfers;
    private final PagePool pool;
    private final boolean[] isOwn;
    private int cursor;
    private int failures;
    private boolean incomplete;

    Flush(
            GuestFile file,
            PageTable table,
            GuestLayout layout,
            Homes homes,
            Fetcher fetcher,
            Transfers transfers,
            PagePool pool) {
        this.file = file;
        this.table = table;
        this.layout = layout;
        this.homes = homes;
        this.fetcher = fetcher;
        this.transfers = transfers;
        this.pool = pool;
        this.isOwn = new boolean[fetcher.capacity()];
    }

    /** Whether all writes have been started. */
    boolean isDone() {
        return cursor >= table.pages();
    }

    /** Whether everything is at its home, once nothing is under way any more. */
    boolean isComplete() {
        return !incomplete;
    }

    /** Starts as many writes as there is room for. Returns how many. */
    int doWork() {
        int work = 0;
        while (!isDone()) {
            if (table.has(cursor, PageTable.WRITING)) {
                return work;
            }
            if (!isStale(cursor)) {
                cursor++;
                continue;
            }
            int done = write(cursor);
            if (done == 0) {
                return work;
            }
            cursor += done;
            work++;
        }
        return work;
    }

    /** Whether the home does not hold what the guest last had. */
    private boolean isStale(int page) {
        return switch (table.kind(page)) {
            case PageTable.DIRTY -> true;
            case PageTable.ZERO -> table.has(page, PageTable.HOMED);
            default -> false;
        };
    }

    /** Starts to write a run of pages. Returns how many, 0 if there is no room at the moment. */
    private int write(int first) {
        int extent = homes.extent(first);
        int count = 1;
        int reach = homes.contiguous(extent, first, Math.min(MAX_RUN, transfers.maxRun()));
        while (count < reach && isStale(first + count) && !table.has(first + count, PageTable.WRITING)) {
            count++;
        }
        if (homes.isLost(extent)) {
            incomplete = true;
            return count;
        }
        int frame = transfers.allocate(count);
        if (frame == FrameAllocator.NONE && count > 1) {
            count = 1;
            frame = transfers.allocate(count);
        }
        if (frame == FrameAllocator.NONE) {
            return 0;
        }
        int filled = fill(first, count, frame);
        if (filled < count) {
            transfers.free(frame, filled, count - filled);
        }
        if (filled == 0) {
            // What the home has is older, and better than nothing.
            incomplete = true;
            return 1;
        }
        return send(first, filled, frame, extent);
    }

    private int send(int first, int count, int frame, int extent) {
        long offset = homes.offset(extent, first);
        int bytes = count * layout.pageBytes();
        PeerLink link = homes.link(extent);
        if (link == null) {
            MemorySegment.copy(pool.staging(), transfers.stagingOffset(frame, 0), pool.exported(), offset, bytes);
            transfers.free(frame, 0, count);
            return count;
        }
        int slot = fetcher.write(link, homes.incarnation(extent), offset, bytes, transfers.stagingAddress(frame, 0));
        if (slot == Fetcher.NONE) {
            transfers.free(frame, 0, count);
            return 0;
        }
        transfers.begin(slot, first, count, frame, true, false, 0);
        isOwn[slot] = true;
        for (int page = first; page < first + count; page++) {
            table.set(page, PageTable.WRITING);
            if (table.kind(page) == PageTable.DIRTY) {
                table.become(page, PageTable.EVICTING);
            }
        }
        return count;
    }

    private int fill(int first, int count, int frame) {
        int bytes = layout.pageBytes();
        for (int i = 0; i < count; i++) {
            long at = transfers.stagingOffset(frame, i);
            if (table.kind(first + i) == PageTable.ZERO) {
                pool.staging().asSlice(at, bytes).fill((byte) 0);
            } else if (file.read(layout.offsetOf(first + i), pool.stagingAddress() + at, bytes) != bytes) {
                return i;
            }
        }
        return count;
    }

    /**
     * Takes the end of a write, and ends its slot. What the evictor began to write of a page that was given up since is not the zeros that
     * its home is to have.
     */
    void written(int slot, FetchStatus status) {
        boolean ok = status == FetchStatus.OK;
        boolean own = isOwn[slot];
        isOwn[slot] = false;
        boolean again = status == FetchStatus.DEADLINE && ++failures < TRIES;
        int first = transfers.first(slot);
        for (int page = first; page < first + transfers.count(slot); page++) {
            table.clear(page, PageTable.WRITING);
            if (table.kind(page) == PageTable.EVICTING) {
                table.become(page, ok ? PageTable.CLEAN : PageTable.DIRTY);
            } else if (ok && own && table.kind(page) == PageTable.ZERO) {
                table.clear(page, PageTable.HOMED);
            }
        }
        incomplete |= !ok && !again;
        if (again) {
            cursor = Math.min(cursor, first);
        }
        transfers.end(slot);
    }
}
