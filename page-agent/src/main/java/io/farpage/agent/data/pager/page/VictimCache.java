package io.farpage.agent.data.pager.page;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import io.farpage.linux.uffd.GuestFile;
import java.lang.foreign.MemorySegment;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The pages that were evicted last, as they are at their homes. The cache resolves a fault of one of them without a
 * fetch. So a page that is in use, and was evicted because no fault had shown it, comes back for little, and its fault
 * shows it: with the clock this is segmented FIFO (R. Turner and H. Levy, <i>Segmented FIFO Page Replacement</i>,
 * SIGMETRICS 1981), whose misses come near those of least recently used.
 *
 * <p>The table says which pages the cache has: {@link PageTable#VICTIM} ends with the page's state, so a page that was
 * fetched, given up or lost since is not found. Pages of 4 KiB only. The shard's thread only.
 */
public final class VictimCache {
    private static final Logger log = LoggerFactory.getLogger(VictimCache.class);

    private static final int PAGE = GuestLayout.BASE_PAGE;
    private static final int NONE = -1;
    /** The golden section, for Fibonacci hashing. */
    private static final int MULTIPLIER = 0x9e37_79b9;

    private final PageTable table;
    private final VictimMemory memory;
    /** The limit that the frames were taken for. */
    private int limit;

    private int capacity;
    private MemorySegment frames = MemorySegment.NULL;
    /** By frame: the page that is in it, or {@link #NONE}; and its neighbours in the order of eviction. */
    private MemorySegment owners = MemorySegment.NULL;

    private MemorySegment older = MemorySegment.NULL;
    private MemorySegment newer = MemorySegment.NULL;
    /** The frame that is filled next, and the one that was filled last. */
    private int oldest;

    private int newest;

    /** A hash table of pages with open addressing: the frame of each, plus one; 0 where there is none. */
    private MemorySegment cells = MemorySegment.NULL;

    private int cellMask;
    private int cellShift;

    /** @param memory where frames are taken from */
    public VictimCache(PageTable table, VictimMemory memory) {
        this.table = table;
        this.memory = memory;
    }

    /** Frames that it has. They count against the guest's limit. */
    public int capacity() {
        return capacity;
    }

    /** The limit that its frames were taken for; 0 if it has none. */
    public int limit() {
        return limit;
    }

    /**
     * Takes frames for a guest, and forgets all pages if its limit has changed.
     *
     * @param pages that may be resident; 0 to take none
     */
    public void fit(int pages) {
        if (pages == limit) {
            return;
        }
        close();
        limit = pages;
        int taken = memory.take(pages);
        if (taken == 0) {
            return;
        }
        try {
            allocate(taken);
        } catch (PageTableException e) {
            log.warn("evicted pages are not kept: {}", e.getMessage());
            memory.giveBack(taken);
            return;
        }
        capacity = taken;
        oldest = 0;
        newest = taken - 1;
        for (int frame = 0; frame < taken; frame++) {
            set(owners, frame, NONE);
            set(older, frame, frame - 1);
            set(newer, frame, frame + 1);
        }
    }

    private void allocate(int taken) {
        int bits = Integer.SIZE - Integer.numberOfLeadingZeros(taken) + 1;
        cellMask = (1 << bits) - 1;
        cellShift = Integer.SIZE - bits;
        frames = OffHeap.allocate((long) taken * PAGE);
        owners = OffHeap.allocate((long) taken * Integer.BYTES);
        older = OffHeap.allocate((long) taken * Integer.BYTES);
        newer = OffHeap.allocate((long) taken * Integer.BYTES);
        cells = OffHeap.allocate((cellMask + 1L) * Integer.BYTES);
    }

    /** Forgets all pages and gives the frames back. */
    public void close() {
        for (int frame = 0; frame < capacity; frame++) {
            empty(frame);
        }
        memory.giveBack(capacity);
        if (capacity > 0) {
            OffHeap.discard(frames);
        }
        capacity = 0;
        limit = 0;
    }

    /**
     * Reads clean pages that are about to be punched out of the memory file, as far as there are frames. Pages of zeros
     * are not kept: the VMM may have punched one out without an event, and then it is not what its homes have.
     *
     * @param offset of the first in the file
     */
    public void read(GuestFile file, long offset, int first, int count) {
        int most = Math.min(count, capacity);
        for (int i = 0; i < count && capacity > 0; i++) {
            forget(first + i);
        }
        for (int done = 0; done < most; ) {
            int frame = oldest;
            int run = 0;
            while (done + run < most && oldest == frame + run) {
                empty(oldest);
                makeNewest(oldest);
                run++;
            }
            long bytes = (long) run * PAGE;
            if (file.read(offset + (long) done * PAGE, addressOf(frame), bytes) != bytes) {
                return;
            }
            for (int i = 0; i < run; i++) {
                if (!isZero(frame + i)) {
                    put(first + done + i, frame + i);
                }
            }
            done += run;
        }
    }

    /** The pages, which were {@link #read}, are at their homes alone. */
    public void evicted(int first, int count) {
        for (int page = first; page < first + count && capacity > 0; page++) {
            if (get(cells, cell(page)) != 0) {
                table.set(page, PageTable.VICTIM);
            }
        }
    }

    /**
     * How many pages from {@code first} on the cache has one behind the other, up to {@code most}; 0 if it does not
     * have the first.
     */
    public int run(int first, int most) {
        int frame = frame(first);
        if (frame == NONE) {
            return 0;
        }
        int run = 1;
        while (run < most && frame(first + run) == frame + run) {
            run++;
        }
        return run;
    }

    /** The address in this process of a page that the cache has. */
    public long address(int page) {
        return addressOf(frame(page));
    }

    private long addressOf(int frame) {
        return frames.address() + (long) frame * PAGE;
    }

    /** Pages are resident again: their frames are filled next. */
    public void returned(int first, int count) {
        for (int page = first; page < first + count; page++) {
            forget(page);
        }
    }

    private boolean isZero(int frame) {
        long from = (long) frame * PAGE;
        return MemorySegment.mismatch(frames, from, from + PAGE, Zeros.segment(), 0, PAGE) == -1;
    }

    private int frame(int page) {
        return capacity == 0 || !table.isVictim(page) ? NONE : get(cells, cell(page)) - 1;
    }

    private void forget(int page) {
        int frame = get(cells, cell(page)) - 1;
        if (frame != NONE) {
            empty(frame);
            makeOldest(frame);
        }
    }

    /** Forgets the page in a frame. */
    private void empty(int frame) {
        int page = get(owners, frame);
        if (page == NONE) {
            return;
        }
        remove(cell(page));
        set(owners, frame, NONE);
        if (table.isVictim(page)) {
            table.clear(page, PageTable.VICTIM);
        }
    }

    private void put(int page, int frame) {
        set(owners, frame, page);
        set(cells, cell(page), frame + 1);
    }

    private void unlink(int frame) {
        int before = get(older, frame);
        int behind = get(newer, frame);
        if (frame == oldest) {
            oldest = behind;
        } else {
            set(newer, before, behind);
        }
        if (frame == newest) {
            newest = before;
        } else {
            set(older, behind, before);
        }
    }

    private void makeNewest(int frame) {
        if (frame != newest) {
            unlink(frame);
            set(newer, newest, frame);
            set(older, frame, newest);
            newest = frame;
        }
    }

    private void makeOldest(int frame) {
        if (frame != oldest) {
            unlink(frame);
            set(older, oldest, frame);
            set(newer, frame, oldest);
            oldest = frame;
        }
    }

    private int home(int page) {
        return (page * MULTIPLIER) >>> cellShift;
    }

    /** The cell of a page, or the free one that it would take. */
    private int cell(int page) {
        int cell = home(page);
        int frame = get(cells, cell);
        while (frame != 0 && get(owners, frame - 1) != page) {
            cell = (cell + 1) & cellMask;
            frame = get(cells, cell);
        }
        return cell;
    }

    /** Empties a cell, and moves those behind it forward that would not be found otherwise. */
    private void remove(int cell) {
        int hole = cell;
        for (int next = (hole + 1) & cellMask; get(cells, next) != 0; next = (next + 1) & cellMask) {
            int from = home(get(owners, get(cells, next) - 1));
            if (((next - from) & cellMask) >= ((next - hole) & cellMask)) {
                set(cells, hole, get(cells, next));
                hole = next;
            }
        }
        set(cells, hole, 0);
    }

    private static int get(MemorySegment ints, int index) {
        return ints.getAtIndex(JAVA_INT, index);
    }

    private static void set(MemorySegment ints, int index, int value) {
        ints.setAtIndex(JAVA_INT, index, value);
    }
}
