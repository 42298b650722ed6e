package io.farpage.agent.pager;

import io.farpage.agent.shard.Counter;
import java.util.Arrays;

/**
 * What is known of every page of a guest, a byte each: where it is, and flags beside it. The shard's thread writes; any thread may read
 * the counts.
 */
final class PageTable {
    /** All zeros: never written, removed, or found to be zeros when it was evicted. Nowhere to be fetched from. */
    static final int ZERO = 0;

    /** At its home, and nowhere else. */
    static final int REMOTE = 1;

    /** At its home, and on its way here. */
    static final int FETCHING = 2;

    /** Here, write-protected, and the same at its home. */
    static final int CLEAN = 3;

    /** Here, and nowhere else that counts. */
    static final int DIRTY = 4;

    /** Here, write-protected, and on its way to its home. */
    static final int EVICTING = 5;

    /** Nowhere: its home is gone. Whoever touches it is told so by the kernel. */
    static final int LOST = 6;

    private static final int KINDS = 7;
    private static final int KIND_MASK = 0xf;

    /** A write to its home is under way, whatever has become of the page since; no other may start before it ended. */
    static final int WRITING = 0x10;

    /** Its home holds a version of it, so that zeros have to be written there, too, some time. */
    static final int HOMED = 0x20;

    /** Asked for since the eviction's hand last came by. */
    static final int REFERENCED = 0x40;

    /** In the queue of faults that wait for room. */
    static final int QUEUED = 0x80;

    private final byte[] states;
    private final Counter[] counts = new Counter[KINDS];
    private final int[] left = new int[KINDS];

    /**
     * @param pages how many
     * @param atHome whether they are at their homes, rather than zeros
     */
    PageTable(int pages, boolean atHome) {
        states = new byte[pages];
        for (int kind = 0; kind < KINDS; kind++) {
            counts[kind] = new Counter();
        }
        if (atHome) {
            Arrays.fill(states, (byte) (REMOTE | HOMED));
        }
        counts[atHome ? REMOTE : ZERO].add(pages);
    }

    /** For a child of the process: what it finds of its own memory, and what it has to be brought. */
    PageTable(PageTable parent) {
        states = new byte[parent.states.length];
        for (int kind = 0; kind < KINDS; kind++) {
            counts[kind] = new Counter();
        }
        for (int page = 0; page < states.length; page++) {
            int kind = parent.kind(page) == FETCHING ? REMOTE : parent.kind(page);
            states[page] = (byte) (kind | (parent.states[page] & HOMED));
            counts[kind].add(1);
        }
    }

    int pages() {
        return states.length;
    }

    int kind(int page) {
        return states[page] & KIND_MASK;
    }

    boolean has(int page, int flag) {
        return (states[page] & flag) != 0;
    }

    void set(int page, int flag) {
        states[page] |= (byte) flag;
    }

    void clear(int page, int flag) {
        states[page] &= (byte) ~flag;
    }

    /** Changes where a page is; its flags stay. */
    void become(int page, int kind) {
        int was = states[page];
        counts[was & KIND_MASK].add(-1);
        counts[kind].add(1);
        states[page] = (byte) ((was & ~KIND_MASK) | kind);
    }

    /**
     * As {@link #become(int, int)}, of pages from {@code first} on.
     *
     * @return whether one of them was of kind {@code watched}
     */
    boolean become(int first, int count, int kind, int watched) {
        Arrays.fill(left, 0);
        for (int page = first; page < first + count; page++) {
            int was = states[page];
            left[was & KIND_MASK]++;
            states[page] = (byte) ((was & ~KIND_MASK) | kind);
        }
        for (int was = 0; was < KINDS; was++) {
            counts[was].add(-left[was]);
        }
        counts[kind].add(count);
        return left[watched] > 0;
    }

    /** Clean pages from {@code first} to before {@code end} may have been written to without being seen. */
    void suspectClean(int first, int end) {
        for (int page = first; page < end; page++) {
            if (kind(page) == CLEAN) {
                become(page, DIRTY);
            }
        }
    }

    boolean isResident(int page) {
        int kind = kind(page);
        return kind >= CLEAN && kind <= EVICTING;
    }

    /** Pages here. Any thread. */
    long resident() {
        return count(CLEAN) + count(DIRTY) + count(EVICTING);
    }

    /** Pages of a kind. Any thread. */
    long count(int kind) {
        return counts[kind].get();
    }
}
