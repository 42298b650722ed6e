package io.farpage.agent.data.pager.page;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.farpage.agent.data.shard.Counter;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The entry of every page of a guest, a byte each: where the page is, and flags beside it. The bytes are outside the
 * heap and hold the difference to the entry that all pages begin with, so pages that were never touched cost no memory.
 * The shard's thread writes; any thread may read the counts.
 */
public final class PageTable {
    /** All zeros: never written, removed, or found to be zeros when it was evicted. Nowhere to be fetched from. */
    public static final int ZERO = 0;

    /** At its home alone. */
    public static final int REMOTE = 1;

    /** At its home, and being fetched. */
    public static final int FETCHING = 2;

    /** Lost with its home. The kernel sends SIGBUS to a thread that touches it. */
    public static final int LOST = 3;

    /** Resident, write-protected, and the same at its home. */
    public static final int CLEAN = 4;

    /** Resident; the home has an older version or none. */
    public static final int DIRTY = 5;

    /** Resident, write-protected, and being written to its home. */
    public static final int EVICTING = 6;

    private static final int STATES = 7;
    /** By state: the states that it may change to, a bit each. */
    private static final int[] NEXT = next();

    static final int STATE_MASK = 0x7;
    /** The state and {@link #STRANDED}: pages are counted by both. */
    private static final int COUNTED = 0xf;

    private static final int STATES_AND_FLAG = 16;
    /** Set in the states of pages that are resident, and in no other. */
    private static final int RESIDENT = 0x4;

    /** Resident while its home is lost or no home has room for it: the only copy, which is never evicted. */
    public static final int STRANDED = 0x8;

    /**
     * The page is {@link #REMOTE}, and the {@link VictimCache} has it. The bit of {@link #STRANDED}, which means
     * nothing where the page is not resident. It ends with the state.
     */
    public static final int VICTIM = STRANDED;

    /**
     * A write to its home is under way, in whatever state the page is by now. No other may start before it has ended.
     */
    public static final int WRITING = 0x10;

    /** Its home holds a version of the page, so zeros have to be written home, too. */
    public static final int HAS_REMOTE_COPY = 0x20;

    /** The resident page faulted since the clock hand last passed, and gets a second chance. */
    public static final int REFERENCED = 0x40;

    /**
     * The page is {@link #REMOTE}, and a replay brings it back: it was resident when the guest was parked, or when the
     * space's last guest ended. The bit of {@link #REFERENCED}, which means nothing where the page is not
     * resident: a mark that is left over costs a prefetch.
     */
    public static final int WANTED = REFERENCED;

    /** In the queue of faults that wait for a free frame. */
    public static final int QUEUED = 0x80;

    private static final ValueLayout.OfLong WORD = JAVA_LONG.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final long EVERY_BYTE = 0x0101_0101_0101_0101L;

    private final int pages;
    private final MemorySegment states;
    private final boolean isKept;
    /** The entry that all pages begin with, and eight of it. */
    private final int initial;

    private final long initialWord;
    private final Counter[] counts = new Counter[STATES_AND_FLAG];
    /** Scratch counts for changing the state of many pages: how many leave each state, and enter it. */
    private final int[] left = new int[2 * STATES_AND_FLAG];

    private final PartialRemovals partialRemovals;
    /** Tables of private children that have not copied all states of this one yet. */
    private final List<PageTable> children = new ArrayList<>(0);

    private @Nullable Inheritance inheritance;

    /**
     * @param pages number of pages
     * @param atHome whether they begin as {@link #REMOTE} rather than {@link #ZERO}
     * @throws PageTableException if there is no memory for the table
     */
    public PageTable(int pages, boolean atHome) {
        this(pages, atHome, OffHeap.allocate(bytes(pages)), false, new PartialRemovals());
        counts[initial & STATE_MASK].add(pages);
    }

    private PageTable(int pages, boolean atHome, MemorySegment states, boolean isKept, PartialRemovals cut) {
        partialRemovals = cut;
        this.pages = pages;
        this.isKept = isKept;
        this.states = states;
        initial = initial(atHome);
        initialWord = initial * EVERY_BYTE;
        for (int i = 0; i < counts.length; i++) {
            counts[i] = new Counter();
        }
    }

    /**
     * A table that outlives this process: a new one, or one that was adopted, with the states that pages have.
     *
     * @param kept {@link #bytes} of the pages
     */
    static PageTable kept(int pages, boolean atHome, MemorySegment kept, PartialRemovals cut) {
        PageTable table = new PageTable(pages, atHome, kept, true, cut);
        table.count();
        return table;
    }

    private void count() {
        int[] found = new int[STATES_AND_FLAG];
        int page = 0;
        while (page < pages) {
            if ((page & 7) == 0 && pages - page >= 8 && states.get(WORD, page) == 0) {
                found[initial & COUNTED] += 8;
                page += 8;
            } else {
                found[entry(page) & COUNTED]++;
                page++;
            }
        }
        for (int state = 0; state < found.length; state++) {
            counts[state].add(found[state]);
        }
    }

    /**
     * A page is fetched only from its home, and is at its home alone only after a WRITE that completed, or after a
     * fetch that was given up: no transition leaves out a version of the page. The guest may give up a page in any
     * state, and a page that is lost comes back in no other way.
     */
    private static int[] next() {
        int[] next = new int[STATES];
        next[ZERO] = states(ZERO, DIRTY);
        next[REMOTE] = states(REMOTE, FETCHING, CLEAN, DIRTY, LOST, ZERO);
        next[FETCHING] = states(FETCHING, REMOTE, CLEAN, DIRTY, LOST, ZERO);
        next[LOST] = states(LOST, ZERO);
        next[CLEAN] = states(CLEAN, DIRTY, REMOTE, ZERO);
        next[DIRTY] = states(DIRTY, CLEAN, EVICTING, ZERO);
        next[EVICTING] = states(EVICTING, CLEAN, DIRTY, REMOTE, ZERO);
        return next;
    }

    private static int states(int... states) {
        return Arrays.stream(states).map(state -> 1 << state).sum();
    }

    private static boolean mayFollow(int entry, int state) {
        return (NEXT[entry & STATE_MASK] >>> state & 1) != 0;
    }

    /** The entry that all pages begin with. */
    static int initial(boolean atHome) {
        return atHome ? REMOTE | HAS_REMOTE_COPY : ZERO;
    }

    /**
     * The table of a private child: pages that are resident in the parent are resident in the child, and pages that the
     * parent is fetching are at their home. The states are copied in blocks: a block before the parent changes it or
     * the child uses it, and one with each {@link #inheritBlock}. Both tables belong to one thread.
     */
    public PageTable(PageTable parent) {
        this(parent.pages, parent.initial != ZERO);
        inheritance = new Inheritance(parent, pages);
        parent.children.add(this);
    }

    /** Whether states are still to be copied from the parent's table. */
    public boolean isInheriting() {
        return inheritance != null;
    }

    /** Copies the next block of states from the parent's table. Returns how many were copied, 0 or 1. */
    public int inheritBlock() {
        if (inheritance == null) {
            return 0;
        }
        inheritBlock(inheritance, inheritance.next());
        return 1;
    }

    /** Copies the states of pages from {@code first} to before {@code end} if they are not copied yet. */
    private void inherit(int first, int end) {
        for (int block = first / Inheritance.BLOCK_PAGES;
                inheritance != null && block * Inheritance.BLOCK_PAGES < end;
                block++) {
            if (inheritance.isMissing(block)) {
                inheritBlock(inheritance, block);
            }
        }
    }

    private void inheritBlock(Inheritance from, int block) {
        from.copied(block);
        if (from.isComplete()) {
            leaveParent(from);
        }
        PageTable parent = from.parent();
        int end = Math.min(pages, (block + 1) * Inheritance.BLOCK_PAGES);
        for (int page = parent.nextTouched(block * Inheritance.BLOCK_PAGES, end);
                page < end;
                page = parent.nextTouched(page + 1, end)) {
            int entry = parent.entry(page);
            int state = entry & STATE_MASK;
            write(page, (state == FETCHING ? REMOTE : state) | (entry & HAS_REMOTE_COPY));
        }
    }

    private void leaveParent(Inheritance from) {
        from.parent().children.remove(this);
        inheritance = null;
    }

    /** Copies the states of these pages to children that miss them. Every change of an entry calls this first. */
    private void beforeChange(int first, int end) {
        inherit(first, end);
        for (int i = children.size() - 1; i >= 0; i--) {
            children.get(i).inherit(first, end);
        }
    }

    /** The most bytes outside the heap that a table of {@code pages} pages takes. */
    public static long bytes(int pages) {
        return (pages + 7L) & -8L;
    }

    /**
     * Frees the memory of the table, unless that outlives this process. Call it after the last lookup of a page;
     * children may still inherit from it.
     */
    public void discard() {
        if (inheritance != null) {
            leaveParent(inheritance);
        }
        if (children.isEmpty() && !isKept) {
            OffHeap.discard(states);
        }
    }

    public int pages() {
        return pages;
    }

    private int entry(int page) {
        if (inheritance != null) {
            inherit(page, page + 1);
        }
        return Byte.toUnsignedInt(states.get(JAVA_BYTE, page)) ^ initial;
    }

    private void put(int page, int entry) {
        if (!children.isEmpty()) {
            beforeChange(page, page + 1);
        }
        write(page, entry);
    }

    private void write(int page, int entry) {
        int was = entry(page) & COUNTED;
        int now = entry & COUNTED;
        if (was != now) {
            counts[was].add(-1);
            counts[now].add(1);
        }
        states.set(JAVA_BYTE, page, (byte) (entry ^ initial));
    }

    /** The home has never had these pages, which are zeros. Nothing must have changed their entries yet. */
    public void neverWritten(int first, int count) {
        states.asSlice(first, count).fill((byte) (ZERO ^ initial));
        counts[initial & STATE_MASK].add(-count);
        counts[ZERO].add(count);
    }

    /** The guest gives up a part of a page: the page counts as dirty if it is resident. */
    public void removePart(int page, long nowNanos) {
        partialRemovals.add(page, nowNanos);
        if (isResident(page)) {
            setState(page, DIRTY);
        }
    }

    /** Whether the kernel may be about to fill a part of the page with zeros: it counts as dirty and is not evicted. */
    public boolean isPartlyRemoved(int page) {
        return !partialRemovals.isEmpty() && partialRemovals.has(page);
    }

    /** Resident pages that are {@link #isPartlyRemoved partly removed}. */
    public int partlyRemovedResident() {
        int found = 0;
        for (int i = 0; i < partialRemovals.size(); i++) {
            found += isResident(partialRemovals.page(i)) ? 1 : 0;
        }
        return found;
    }

    /** Pages with parts that were given up, for a time. */
    public PartialRemovals partialRemovals() {
        return partialRemovals;
    }

    public int state(int page) {
        return entry(page) & STATE_MASK;
    }

    public boolean has(int page, int flag) {
        return (entry(page) & flag) != 0;
    }

    public void set(int page, int flag) {
        assert flag != WRITING || !has(page, WRITING) : "two WRITEs of page " + page;
        put(page, entry(page) | flag);
    }

    public void clear(int page, int flag) {
        put(page, entry(page) & ~flag);
    }

    /** Changes where a page is; its flags stay. */
    public void setState(int page, int state) {
        assert mayFollow(entry(page), state) : "page " + page + ": state " + state + " after " + state(page);
        put(page, changed(entry(page), state));
    }

    /** The entry of a page that comes into a state: only a page that stays resident stays stranded. */
    private static int changed(int entry, int state) {
        boolean staysResident = (entry & state & RESIDENT) != 0;
        return (entry & ~(STATE_MASK | (staysResident ? 0 : STRANDED))) | state;
    }

    /**
     * As {@link #setState(int, int)}, of pages from {@code first} on.
     *
     * @return whether one of them was in state {@code watched}
     */
    public boolean setState(int first, int count, int state, int watched) {
        int end = first + count;
        beforeChange(first, end);
        Arrays.fill(left, 0);
        int page = first;
        while (page < end) {
            if (state == (initial & STATE_MASK) && (page & 7) == 0 && end - page >= 8 && states.get(WORD, page) == 0) {
                left[state] += 8;
                left[STATES_AND_FLAG + state] += 8;
                page += 8;
                continue;
            }
            int was = entry(page);
            assert mayFollow(was, state) : "page " + page + ": state " + state + " after " + (was & STATE_MASK);
            left[was & COUNTED]++;
            int now = changed(was, state);
            left[STATES_AND_FLAG + (now & COUNTED)]++;
            states.set(JAVA_BYTE, page, (byte) (now ^ initial));
            page++;
        }
        for (int was = 0; was < counts.length; was++) {
            counts[was].add(left[STATES_AND_FLAG + was] - left[was]);
        }
        return left[watched] + left[STRANDED | watched] > 0;
    }

    /** The home of a resident page is lost, or none has room: the page is the only copy from now on, and dirty. */
    public void strand(int page) {
        int entry = entry(page);
        put(page, (entry & STATE_MASK) == CLEAN ? (entry & ~STATE_MASK) | DIRTY | STRANDED : entry | STRANDED);
    }

    /**
     * Whether all pages from {@code first} to before {@code end} are zeros, and none is being written home. Any thread;
     * not while it is discarded.
     */
    public boolean areZeros(int first, int end) {
        for (int page = first; page < end; page++) {
            if (((states.get(JAVA_BYTE, page) ^ initial) & (STATE_MASK | WRITING)) != ZERO) {
                return false;
            }
        }
        return true;
    }

    /** No home has older versions of the pages of zeros from {@code first} to before {@code end} now. */
    public void forgetCopies(int first, int end) {
        for (int page = first; page < end; page++) {
            if (state(page) == ZERO && has(page, HAS_REMOTE_COPY)) {
                clear(page, HAS_REMOTE_COPY);
            }
        }
    }

    /**
     * Marks clean pages from {@code first} to before {@code end}, and pages that are being written home, as dirty:
     * writes to them may have gone unnoticed.
     */
    public void markCleanDirty(int first, int end) {
        for (int page = nextResident(first, end); page < end; page = nextResident(page + 1, end)) {
            int state = state(page);
            if (state == CLEAN || state == EVICTING) {
                setState(page, DIRTY);
            }
        }
    }

    /** Whether a page is at its home, and the {@link VictimCache} has it, too. */
    public boolean isVictim(int page) {
        return (entry(page) & COUNTED) == (REMOTE | VICTIM);
    }

    public boolean isResident(int page) {
        return (entry(page) & RESIDENT) != 0;
    }

    /**
     * The first resident page from {@code from} on, or {@code end} if there is none before it. Tests eight pages at
     * once.
     */
    public int nextResident(int from, int end) {
        inherit(from, end);
        int page = from;
        while (page < end) {
            if ((page & 7) == 0 && end - page >= 8) {
                long resident = (states.get(WORD, page) ^ initialWord) & RESIDENT * EVERY_BYTE;
                if (resident != 0) {
                    return page + (Long.numberOfTrailingZeros(resident) >>> 3);
                }
                page += 8;
            } else if (isResident(page)) {
                return page;
            } else {
                page++;
            }
        }
        return end;
    }

    /**
     * The first page from {@code from} on whose newest version is not at its home or is being written there, or
     * {@code end}. Such a page is dirty, or zeros while its home has an older version. Tests eight pages at once.
     */
    public int nextUnsaved(int from, int end) {
        inherit(from, end);
        int page = from;
        while (page < end) {
            if ((page & 7) == 0 && end - page >= 8) {
                long unsaved = unsaved(states.get(WORD, page) ^ initialWord);
                if (unsaved != 0) {
                    return page + (Long.numberOfTrailingZeros(unsaved) >>> 3);
                }
                page += 8;
            } else if (unsaved(entry(page)) != 0) {
                return page;
            } else {
                page++;
            }
        }
        return end;
    }

    /** The first dirty page from {@code from} on, or {@code end}. Tests eight pages at once. */
    public int nextDirty(int from, int end) {
        inherit(from, end);
        int page = from;
        while (page < end) {
            if ((page & 7) == 0 && end - page >= 8) {
                long dirty = dirty(states.get(WORD, page) ^ initialWord) & EVERY_BYTE;
                if (dirty != 0) {
                    return page + (Long.numberOfTrailingZeros(dirty) >>> 3);
                }
                page += 8;
            } else if (state(page) == DIRTY) {
                return page;
            } else {
                page++;
            }
        }
        return end;
    }

    /** A mask with the lowest bit of each byte of {@code states} that is DIRTY, 101 in binary; 111 is not a state. */
    private static long dirty(long states) {
        return states & ~(states >>> 1) & states >>> 2;
    }

    /**
     * A mask with the lowest bit of each byte of {@code states} whose page is not saved at its home: it is DIRTY, is
     * ZERO, 000 in binary, with an older copy at the home, or is being written.
     */
    private static long unsaved(long states) {
        long anyBit = states | states >>> 1 | states >>> 2;
        long olderAtHome = ~anyBit & states >>> Integer.numberOfTrailingZeros(HAS_REMOTE_COPY);
        long writing = states >>> Integer.numberOfTrailingZeros(WRITING);
        return (dirty(states) | olderAtHome | writing) & EVERY_BYTE;
    }

    /**
     * Begins with the pages that the homes have: the others are zeros, and those that are wanted and at their homes
     * alone are marked. Pages that were marked as {@link #neverWritten} before must not be zeros in the map.
     *
     * @return whether a page is wanted
     */
    public boolean begin(PresenceMap presence) {
        boolean isAnyWanted = false;
        int end;
        for (int page = 0; page < pages; page = end) {
            end = presence.endOfRun(page);
            switch (presence.get(page)) {
                case PresenceMap.ZERO -> neverWritten(page, end - page);
                case PresenceMap.WANTED -> isAnyWanted |= want(page, end);
                default -> {}
            }
        }
        return isAnyWanted;
    }

    private boolean want(int first, int end) {
        boolean isAny = false;
        for (int page = first; page < end; page++) {
            if (state(page) == REMOTE) {
                set(page, WANTED);
                isAny = true;
            }
        }
        return isAny;
    }

    /**
     * Says which pages the homes have, when the guest's memory was written home: a page that was resident, or wanted,
     * is wanted by the next guest. Any thread, after the last change of an entry.
     *
     * @param first page of the map that is this table's first
     */
    public void describe(PresenceMap map, int first) {
        describe(map, first, 0, pages);
    }

    /** As {@link #describe(PresenceMap, int)}, of the pages from {@code from} to before {@code end}. */
    public void describe(PresenceMap map, int first, int from, int end) {
        for (int page = from; page < end; page++) {
            int entry = Byte.toUnsignedInt(states.get(JAVA_BYTE, page)) ^ initial;
            boolean isWanted = (entry & RESIDENT) != 0 || wanted(entry) != 0;
            boolean isPresent = (entry & HAS_REMOTE_COPY) != 0;
            map.set(first + page, !isPresent ? PresenceMap.ZERO : isWanted ? PresenceMap.WANTED : PresenceMap.PRESENT);
        }
    }

    /** Whether a page is at its home alone, and a replay brings it back. */
    public boolean isWanted(int page) {
        return wanted(entry(page)) != 0;
    }

    /** The first page from {@code from} on that {@link #isWanted}, or {@code end}. Tests eight pages at once. */
    public int nextWanted(int from, int end) {
        inherit(from, end);
        int page = from;
        while (page < end) {
            if ((page & 7) == 0 && end - page >= 8) {
                long wanted = wanted(states.get(WORD, page) ^ initialWord);
                if (wanted != 0) {
                    return page + (Long.numberOfTrailingZeros(wanted) >>> 3);
                }
                page += 8;
            } else if (isWanted(page)) {
                return page;
            } else {
                page++;
            }
        }
        return end;
    }

    /** A mask with the lowest bit of each byte of {@code states} that is REMOTE, 001 in binary, and WANTED. */
    private static long wanted(long states) {
        return states
                & ~(states >>> 1)
                & ~(states >>> 2)
                & states >>> Integer.numberOfTrailingZeros(WANTED)
                & EVERY_BYTE;
    }

    /**
     * The first page from {@code from} on that is being written to its home, or {@code end}. Tests eight pages at once.
     */
    public int nextWriting(int from, int end) {
        inherit(from, end);
        int page = from;
        while (page < end) {
            if ((page & 7) == 0 && end - page >= 8) {
                long writing = (states.get(WORD, page) ^ initialWord) & WRITING * EVERY_BYTE;
                if (writing != 0) {
                    return page + (Long.numberOfTrailingZeros(writing) >>> 3);
                }
                page += 8;
            } else if ((entry(page) & WRITING) != 0) {
                return page;
            } else {
                page++;
            }
        }
        return end;
    }

    /**
     * The first page from {@code from} on whose entry differs from the initial one, or {@code end}. Tests eight pages
     * at once.
     */
    int nextTouched(int from, int end) {
        inherit(from, end);
        int page = from;
        while (page < end) {
            if ((page & 7) == 0 && end - page >= 8) {
                long touched = states.get(WORD, page);
                if (touched != 0) {
                    return page + (Long.numberOfTrailingZeros(touched) >>> 3);
                }
                page += 8;
            } else if (states.get(JAVA_BYTE, page) != 0) {
                return page;
            } else {
                page++;
            }
        }
        return end;
    }

    /**
     * The entries of eight pages from a multiple of eight on, a byte each, as they were a moment ago. Not of a child's
     * table. Any thread.
     */
    long eightEntries(int page) {
        return states.get(WORD, page) ^ initialWord;
    }

    /** Resident pages. Any thread. */
    public long resident() {
        return count(CLEAN) + count(DIRTY) + count(EVICTING);
    }

    /** Resident pages whose home is lost. Any thread. */
    public long stranded() {
        long stranded = 0;
        for (int state = RESIDENT; state < STATES; state++) {
            stranded += counts[STRANDED | state].get();
        }
        return stranded;
    }

    /** Pages in a state. Any thread. */
    public long count(int state) {
        return counts[state].get() + counts[STRANDED | state].get();
    }
}
