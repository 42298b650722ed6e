package io.farpage.agent.data.pager.transfer;

import io.farpage.agent.data.pager.home.Home;
import io.farpage.agent.data.shard.FetchStatus;
import org.jspecify.annotations.Nullable;

/**
 * A transfer of a run of pages: what it is for, its staging frames, and how far it is completed. {@link Transfers}
 * makes one for each slot and uses it again and again.
 */
public final class Transfer {
    private final int slot;
    private Kind kind = Kind.FETCH;
    private int first;
    private int count;
    private int frame;
    private @Nullable Home home;

    private @Nullable Owner owner;
    private boolean isForWrite;
    private long seenAt;
    private long arrivedAt;
    private int completed;
    private long removed;

    /** When the transfer of a page with several homes started. */
    private long startedAt;

    private int version;
    private boolean isUnderWay;
    private boolean isMirrored;
    /** The transfer that a WRITE to a further home belongs to; that transfer is completed once all of them are. */
    private @Nullable Transfer lead;
    /** A READ of the same pages from another home; the first that succeeds is used. */
    private @Nullable Transfer twin;

    private boolean abandoned;
    private int legs;
    private int legsPending;
    private final @Nullable Home[] legHome = new Home[MAX_LEGS];
    private final long[] legIncarnation = new long[MAX_LEGS];
    private final boolean[] legDone = new boolean[MAX_LEGS];
    private final FetchStatus[] legStatus = new FetchStatus[MAX_LEGS];
    private final int[] legSlot = new int[MAX_LEGS];

    /** The most homes that a page is written to. */
    static final int MAX_LEGS = 4;

    /** What a transfer is for, and so which part of the pager completes it. */
    public enum Kind {
        /** A READ of a page that a thread waits for, and of some behind it; its {@link Owner} installs them. */
        FETCH,
        /** A READ of pages that none waits for yet. */
        PREFETCH,
        /** A WRITE of the {@code Evictor}. */
        EVICTION,
        /** A WRITE of the evictor, of pages that are all zeros. */
        EVICTION_OF_ZEROS,
        /** A WRITE of the {@code Flush}. */
        FLUSH,
        /** A WRITE of {@code Freeze}. */
        SNAPSHOT,
        /** A WRITE of {@code Freeze}, of pages that were zeros. */
        SNAPSHOT_OF_ZEROS,
        /** A READ of pages that {@code Repair} copies. */
        COPY_READ,
        /** A WRITE of {@code Repair} to a home that joins. */
        COPY_WRITE
    }

    /** The time of a fault, for pages that are prefetched without one. */
    public static final long PREFETCH = Long.MIN_VALUE;

    /** Installs the pages that a READ brings. */
    @FunctionalInterface
    public interface Owner {
        /** The READ of a run has completed. */
        void completed(Transfer fetch, FetchStatus status);
    }

    Transfer(int slot) {
        this.slot = slot;
    }

    void begin(Kind what, int page, int pages, int firstFrame, Home with, int mapVersion) {
        version = mapVersion;
        kind = what;
        first = page;
        count = pages;
        frame = firstFrame;
        home = with;
        owner = null;
        isForWrite = false;
        seenAt = 0;
        completed = 0;
        removed = 0;
        isUnderWay = true;
        isMirrored = false;
        lead = null;
        twin = null;
        abandoned = false;
        legs = 0;
        legsPending = 0;
    }

    void end() {
        isUnderWay = false;
        lead = null;
        twin = null;
        legs = 0;
        count = 0;
        owner = null;
        home = null;
    }

    /** Names the part that installs the pages, and the fault that the first page is fetched for. */
    public void fetchesFor(Owner installs, boolean write, long seenNanos) {
        owner = installs;
        isForWrite = write;
        seenAt = seenNanos;
    }

    /** Its slot of the fetcher. */
    public int slot() {
        return slot;
    }

    public Kind kind() {
        return kind;
    }

    public boolean isWrite() {
        return !isFetch() && kind != Kind.COPY_READ;
    }

    /** Whether an {@link Owner} installs the pages. */
    public boolean isFetch() {
        return kind == Kind.FETCH || kind == Kind.PREFETCH;
    }

    public int first() {
        return first;
    }

    public int count() {
        return count;
    }

    /** The first of its staging frames. */
    public int frame() {
        return frame;
    }

    @Nullable
    public Home home() {
        return home;
    }

    /** The part that installs the pages of a transfer of kind {@link Kind#FETCH}; null for the other kinds. */
    @Nullable
    public Owner owner() {
        return owner;
    }

    /** Whether a thread waits to write to the first page. */
    public boolean isForWrite() {
        return isForWrite;
    }

    /** When the fault was seen, nanoseconds, or {@link #PREFETCH}. */
    public long seenAt() {
        return seenAt;
    }

    public void arrived(long nowNanos) {
        arrivedAt = nowNanos;
    }

    /** When the pages arrived, nanoseconds. */
    public long arrivedAt() {
        return arrivedAt;
    }

    /** Pages of the run that are completed: installed, or given up. */
    public int completed() {
        return completed;
    }

    public void complete(int pages) {
        completed += pages;
        assert pages > 0 && completed <= count : completed + " of " + count;
    }

    public boolean isRemoved(int index) {
        return ((removed >>> index) & 1) != 0;
    }

    /** The guest has given up those of some pages that are not completed: they must not be installed. */
    public void remove(int page, int pages) {
        int from = Math.max(page, first + completed);
        int until = Math.min(page + pages, first + count);
        if (from < until) {
            long bits = until - from == Long.SIZE ? -1L : (1L << (until - from)) - 1;
            removed |= bits << (from - first);
        }
    }

    /** Whether a page is one of its run. */
    boolean has(int page) {
        return page >= first && page < first + count;
    }

    /** A thread waits to write to a page. */
    void wantForWrite(int page) {
        isForWrite |= count > 0 && first == page && completed == 0 && !isRemoved(0);
    }

    /** Records when a transfer of a page with several homes, or one that joins, began. */
    public void startedAt(long nowNanos) {
        startedAt = nowNanos;
        isMirrored = true;
    }

    /** Whether its pages had several homes, or one that joined, when it began. */
    public boolean isMirrored() {
        return isMirrored;
    }

    /** When a transfer of a page with several homes began, nanoseconds. */
    public long startedAt() {
        return startedAt;
    }

    /** Version of the map under which it began. */
    public int version() {
        return version;
    }

    /** Whether it has begun and was not polled. */
    public boolean isUnderWay() {
        return isUnderWay;
    }

    /** Whether it has begun and not ended. */
    public boolean isInUse() {
        return count > 0;
    }

    /** Whether it was polled, with all parts that it waits for, and has not ended. */
    boolean isCompleted() {
        return count > 0 && !isUnderWay && lead == null && legsPending == 0;
    }

    void polled() {
        isUnderWay = false;
    }

    /** Adds a WRITE to one home, which {@code with} carries out; this transfer itself does the first. */
    void addLeg(Transfer with, Home to, long incarnation) {
        legHome[legs] = to;
        legIncarnation[legs] = incarnation;
        legDone[legs] = false;
        legStatus[legs] = FetchStatus.PENDING;
        legSlot[legs] = with.slot;
        legs++;
        legsPending++;
        if (with != this) {
            with.lead = this;
        }
    }

    @Nullable
    Transfer lead() {
        return lead;
    }

    int legs() {
        return legs;
    }

    /** A WRITE has ended. Returns whether it was the last one that this transfer waits for. */
    boolean legEnded(int ofSlot, FetchStatus how) {
        int pending = legsPending;
        for (int leg = 0; leg < legs; leg++) {
            if (legSlot[leg] == ofSlot && !legDone[leg]) {
                legDone[leg] = true;
                legStatus[leg] = how;
                legsPending--;
            }
        }
        assert pending - legsPending == 1 : "slot " + ofSlot;
        return legsPending == 0;
    }

    /** How the WRITE to a home ended; PENDING if there was none. */
    FetchStatus writtenTo(@Nullable Home to, long incarnation) {
        for (int leg = 0; leg < legs; leg++) {
            if (legHome[leg] == to && legIncarnation[leg] == incarnation) {
                return legStatus[leg];
            }
        }
        return FetchStatus.PENDING;
    }

    /** The READ of the same pages from another home, if there is one under way. */
    @Nullable
    public Transfer twin() {
        return twin;
    }

    /** Makes this a READ of the same pages as {@code slow}. */
    void pairWith(Transfer slow) {
        owner = slow.owner;
        isForWrite = slow.isForWrite;
        seenAt = slow.seenAt;
        removed = slow.removed;
        twin = slow;
        slow.twin = this;
    }

    /** Ends the pair; one of the two transfers continues alone. */
    void unpair() {
        Transfer other = twin;
        twin = null;
        if (other != null) {
            other.twin = null;
        }
    }

    /** The pages have come from another home: what arrives is dropped. */
    void abandon() {
        abandoned = true;
        owner = null;
    }

    public boolean isAbandoned() {
        return abandoned;
    }
}
