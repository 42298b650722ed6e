package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.HeatReport;
import io.farpage.rest.ProblemException;
import java.util.HashMap;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * How warm pages are, as last reported. In memory only, since it is a hint and soon out of date; bounded for each space and for all together.
 * Thread-safe.
 */
public final class Heat {

    /** Ranges that are kept of one space. */
    static final int MAX_OF_SPACE = 1 << 16;
    /** Ranges that are kept of all spaces, each about 100 bytes. */
    static final int MAX = 1 << 18;

    private static final long STALE_NANOS = TimeUnit.MINUTES.toNanos(1);

    private final LongSupplier nanoTime;
    private final Map<Long, Reported> spaces = new HashMap<>();
    private int total;

    /** What is known of one space. */
    private record Reported(NavigableMap<Long, HeatReport.Range> ranges, long at) {}

    /** Makes an empty one. */
    public Heat() {
        this(System::nanoTime);
    }

    /** Makes an empty one with a clock in nanoseconds. */
    Heat(LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
    }

    /**
     * Adds a report. It replaces earlier ranges that it overlaps, or all earlier ranges of the space if both together are too many.
     *
     * @throws ProblemException 503 if the spaces whose reports are less than a minute old leave no room
     */
    public synchronized void report(long space, HeatReport report) {
        NavigableMap<Long, HeatReport.Range> before = rangesOf(space);
        NavigableMap<Long, HeatReport.Range> after = merged(before, report);
        if (after.size() > MAX_OF_SPACE) {
            after = merged(new TreeMap<>(), report);
        }
        long now = nanoTime.getAsLong();
        makeRoom(space, total - before.size() + after.size() - MAX, now);
        int grown = total - rangesOf(space).size() + after.size();
        if (grown > MAX) {
            throw new ProblemException(
                            503,
                            "overloaded",
                            "%d ranges of heat would make %d of all spaces; %d are kept; report longer ranges"
                                    .formatted(after.size(), grown, MAX))
                    .withRetryAfter((int) TimeUnit.NANOSECONDS.toSeconds(STALE_NANOS));
        }
        total = grown;
        spaces.put(space, new Reported(after, now));
    }

    private NavigableMap<Long, HeatReport.Range> rangesOf(long space) {
        return Optional.ofNullable(spaces.get(space)).map(Reported::ranges).orElseGet(TreeMap::new);
    }

    private static NavigableMap<Long, HeatReport.Range> merged(
            NavigableMap<Long, HeatReport.Range> before, HeatReport report) {
        NavigableMap<Long, HeatReport.Range> after = new TreeMap<>(before);
        for (HeatReport.Range range : report.ranges()) {
            cut(after, range.firstPage(), end(range));
            after.put(range.firstPage(), range);
        }
        return after;
    }

    /** Forgets spaces that were not reported for a minute, until so many ranges are free. */
    private void makeRoom(long except, int needed, long now) {
        int missing = needed;
        for (var all = spaces.entrySet().iterator(); missing > 0 && all.hasNext(); ) {
            var each = all.next();
            if (each.getKey() != except && now - each.getValue().at() > STALE_NANOS) {
                int freed = each.getValue().ranges().size();
                missing -= freed;
                total -= freed;
                all.remove();
            }
        }
    }

    /** Removes the pages from {@code from} to before {@code to} from all ranges; ranges that reach beyond are cut. */
    private static void cut(NavigableMap<Long, HeatReport.Range> ranges, long from, long to) {
        Optional<HeatReport.Range> before =
                Optional.ofNullable(ranges.lowerEntry(from)).map(Map.Entry::getValue);
        before.filter(range -> end(range) > from).ifPresent(range -> {
            ranges.put(
                    range.firstPage(), new HeatReport.Range(range.firstPage(), from - range.firstPage(), range.heat()));
            if (end(range) > to) {
                ranges.put(to, new HeatReport.Range(to, end(range) - to, range.heat()));
            }
        });
        Optional.ofNullable(ranges.lowerEntry(to))
                .map(Map.Entry::getValue)
                .filter(range -> range.firstPage() >= from && end(range) > to)
                .ifPresent(range -> ranges.put(to, new HeatReport.Range(to, end(range) - to, range.heat())));
        ranges.subMap(from, to).clear();
    }

    private static long end(HeatReport.Range range) {
        return range.firstPage() + range.count();
    }

    /** The heat of a page, 0 when never reported. */
    public synchronized long of(long space, long page) {
        return Optional.ofNullable(spaces.get(space))
                .map(reported -> reported.ranges().floorEntry(page))
                .map(Map.Entry::getValue)
                .filter(range -> page < end(range))
                .map(HeatReport.Range::heat)
                .orElse(0L);
    }

    synchronized void forget(long space) {
        Optional.ofNullable(spaces.remove(space))
                .ifPresent(reported -> total -= reported.ranges().size());
    }
}
