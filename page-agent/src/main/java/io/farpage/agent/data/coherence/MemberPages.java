package io.farpage.agent.data.coherence;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.lang.foreign.MemorySegment;

/**
 * The state of each page of a member, in a byte. Transitions are the member's; their order relative to kernel calls is
 * that of {@link KeptMember}.
 */
final class MemberPages {
    /** Not resident. */
    static final int INVALID = 0;
    /** Not resident, requested to be read. */
    static final int READING = 1;
    /** Not resident, requested to be written. */
    static final int WRITING = 2;
    /** Resident and write-protected; the home has this version, others may have it. */
    static final int SHARED = 3;
    /** As {@link #SHARED}, and requested to be written. */
    static final int UPGRADING = 4;
    /** Resident; no other member has the page. */
    static final int MODIFIED = 5;
    /** Resident, write-protected, and sent to the home, which has not confirmed that yet. */
    static final int SENDING = 6;
    /** Lost with its last owner. */
    static final int LOST = 7;

    private static final int STATES = 8;
    static final int STATE = STATES - 1;

    /** The home wants the page to be given up, and that waits. */
    static final int INVALIDATED = 8;
    /** The home wants the page, and that waits. */
    static final int RECALLED = 16;
    /** The page was granted and could not be installed yet. */
    static final int PARKED = 32;
    /** The page is evicted when the home has it. */
    static final int VICTIM = 64;
    /** The page is {@link #READING}, and was requested before a thread touched it. */
    static final int AHEAD = VICTIM;
    /** A thread waits until the home has the page; or for a page that was requested before. */
    static final int AWAITED = 128;

    private static final int MOST_SHOWN = 64;

    private final MemorySegment pages;
    private final int size;
    private final int[] counts = new int[STATES];

    /** @param pages a byte for each page; zeros, or as they were left */
    MemberPages(MemorySegment pages) {
        this.pages = pages;
        size = (int) pages.byteSize();
        for (int page = 0; page < size; page++) {
            counts[state(page)]++;
        }
    }

    int size() {
        return size;
    }

    int state(int page) {
        return get(page) & STATE;
    }

    /** Leaves the flags. */
    void setState(int page, int state) {
        counts[state(page)]--;
        counts[state]++;
        put(page, (get(page) & ~STATE) | state);
    }

    private int get(int page) {
        return pages.get(JAVA_BYTE, page);
    }

    private void put(int page, int entry) {
        pages.set(JAVA_BYTE, page, (byte) entry);
    }

    boolean has(int page, int flag) {
        return (get(page) & flag) != 0;
    }

    void set(int page, int flag) {
        put(page, get(page) | flag);
    }

    void clear(int page, int flags) {
        put(page, get(page) & ~flags);
    }

    /** A word for each of the first pages. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder();
        for (int page = 0; page < Math.min(size, MOST_SHOWN); page++) {
            text.append(page == 0 ? "" : " ").append(Integer.toHexString(get(page) & 0xFF));
        }
        return text.toString();
    }

    int count(int state) {
        return counts[state];
    }

    /** Pages that are resident or will be. */
    int held() {
        return size - counts[INVALID] - counts[LOST];
    }

    /** Whether the page is in the memory file. */
    boolean isResident(int page) {
        int state = state(page);
        return state >= SHARED && state <= SENDING;
    }
}
