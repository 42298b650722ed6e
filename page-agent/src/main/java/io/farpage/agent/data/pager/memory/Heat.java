package io.farpage.agent.data.pager.memory;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * How often pages were asked for lately, in blocks of 512 pages, or of more if that would be more than
 * {@link #MAX_BLOCKS}. The counters are halved every 30 seconds. The shard's thread counts and ages; any thread may
 * read what it counted a moment ago.
 *
 * <p>A pager counts in 1,024 blocks of 4 bytes at most, 4 KiB however large its guest is. A pager has 2^31 pages at
 * most, so a guest of 1 TiB needs one pager or more: the bound of 1 MiB for each TiB and node holds up to 256 pagers a
 * TiB.
 */
public final class Heat {
    /** Blocks, and so ranges of a report, at most: about 50 KB of JSON. */
    public static final int MAX_BLOCKS = 1024;

    private static final int MIN_SHIFT = 9;
    private static final long HALVED_AFTER_MILLIS = 30_000;
    private static final long REPORTED_MILLIS = 60_000;

    private final int pages;
    private final int shift;
    private final int[] faults;
    private final LongSupplier clock;
    /** When the counters were last halved, or the pager began. */
    private volatile long halvedAt;

    /** @param clock monotonic nanoseconds */
    public Heat(int pages, LongSupplier clock) {
        this.pages = pages;
        this.clock = clock;
        int enough = MIN_SHIFT;
        while (blocks(pages, enough) > MAX_BLOCKS) {
            enough++;
        }
        shift = enough;
        faults = new int[(int) blocks(pages, shift)];
        halvedAt = clock.getAsLong();
    }

    private static long blocks(int pages, int shift) {
        return (pages + (1L << shift) - 1) >> shift;
    }

    public void add(int page) {
        faults[page >> shift]++;
    }

    /** Halves the counters as often as is due. To be called every few seconds, by the shard's thread. */
    public void age() {
        long before = halvedAt;
        long halvings = millisSince(before) / HALVED_AFTER_MILLIS;
        if (halvings == 0) {
            return;
        }
        int by = (int) Math.min(Integer.SIZE - 1, halvings);
        for (int block = 0; block < faults.length; block++) {
            faults[block] >>>= by;
        }
        halvedAt = before + TimeUnit.MILLISECONDS.toNanos(halvings * HALVED_AFTER_MILLIS);
    }

    private long millisSince(long nanos) {
        return TimeUnit.NANOSECONDS.toMillis(clock.getAsLong() - nanos);
    }

    /**
     * Pages that were asked for.
     *
     * @param faults of all of them in a minute, at the rate of late
     */
    public record Range(int firstPage, int count, long faults) {}

    /**
     * Every block that was asked for lately. At a constant rate a counter holds the faults of 30 seconds just after it
     * was halved, and those of 60 seconds just before. A range has the faults of 60 seconds at any time, so that
     * reports of pagers that halve at different times compare. Any thread.
     */
    public List<Range> report() {
        long covered = HALVED_AFTER_MILLIS + Math.clamp(millisSince(halvedAt), 0, HALVED_AFTER_MILLIS);
        List<Range> ranges = new ArrayList<>();
        for (int block = 0; block < faults.length; block++) {
            long inMinute = faults[block] * REPORTED_MILLIS / covered;
            if (inMinute > 0) {
                int first = block << shift;
                ranges.add(new Range(first, Math.min(1 << shift, pages - first), inMinute));
            }
        }
        return ranges;
    }
}
