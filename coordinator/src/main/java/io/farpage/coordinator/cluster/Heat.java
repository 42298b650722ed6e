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
 * How warm pages are, as reported in the last minute. In memory only, since it is a hint and soon out of date; bounded
 * for each space and for all together. Thread-safe.
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
    private record Reported(NavigableMap<Long, Warm> ranges, long at) {}

    /**
     * A range that was reported, or what later reports have left of it.
     *
     * @param of pages of the range that was reported, which have the heat together
     * @param at when it was reported
     */
    private record Warm(long firstPage, long end, long heat, long of, long at) {
        static Warm of(HeatReport.Range range, long at) {
            return new Warm(range.firstPage(), range.firstPage() + range.count(), range.heat(), range.count(), at);
        }

        Warm from(long first) {
            return new Warm(first, end, heat, of, at);
        }

        Warm until(long last) {
            return new Warm(firstPage, last, heat, of, at);
        }

        /** The heat of the pages from {@code from} to before {@code to}, if all pages of the range are equally warm. */
        double share(long from, long to) {
            return heat * ((double) (Math.min(to, end) - Math.max(from, firstPage)) / of);
        }
    }

    /** Makes an empty one with a clock in nanoseconds. */
    public Heat(LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
    }

    /**
     * Adds a report. It replaces earlier ranges that it overlaps, or all earlier ranges of the space if both together
     * are too many.
     *
     * @throws ProblemException 503 if the spaces whose reports are less than a minute old leave no room
     */
    public synchronized void report(long space, HeatReport report) {
        long now = nanoTime.getAsLong();
        NavigableMap<Long, Warm> before = rangesOf(space);
        NavigableMap<Long, Warm> after = merged(before, report, now);
        if (after.size() > MAX_OF_SPACE) {
            after = merged(new TreeMap<>(), report, now);
        }
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

    private NavigableMap<Long, Warm> rangesOf(long space) {
        return Optional.ofNullable(spaces.get(space)).map(Reported::ranges).orElseGet(TreeMap::new);
    }

    private static NavigableMap<Long, Warm> merged(NavigableMap<Long, Warm> before, HeatReport report, long now) {
        NavigableMap<Long, Warm> after = new TreeMap<>(before);
        after.values().removeIf(range -> now - range.at() > STALE_NANOS);
        for (HeatReport.Range range : report.ranges()) {
            Warm fresh = Warm.of(range, now);
            cut(after, fresh.firstPage(), fresh.end());
            after.put(fresh.firstPage(), fresh);
        }
        return after;
    }

    /** Forgets spaces without a report for a minute, until {@code needed} ranges are free. */
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
    private static void cut(NavigableMap<Long, Warm> ranges, long from, long to) {
        Optional<Warm> before = Optional.ofNullable(ranges.lowerEntry(from)).map(Map.Entry::getValue);
        before.filter(range -> range.end() > from).ifPresent(range -> {
            ranges.put(range.firstPage(), range.until(from));
            if (range.end() > to) {
                ranges.put(to, range.from(to));
            }
        });
        Optional.ofNullable(ranges.lowerEntry(to))
                .map(Map.Entry::getValue)
                .filter(range -> range.firstPage() >= from && range.end() > to)
                .ifPresent(range -> ranges.put(to, range.from(to)));
        ranges.subMap(from, to).clear();
    }

    /** The heat of the range that a page is in, 0 if it was not reported in the last minute. */
    public synchronized long of(long space, long page) {
        long now = nanoTime.getAsLong();
        return Optional.ofNullable(spaces.get(space))
                .map(reported -> reported.ranges().floorEntry(page))
                .map(Map.Entry::getValue)
                .filter(range -> page < range.end() && now - range.at() <= STALE_NANOS)
                .map(Warm::heat)
                .orElse(0L);
    }

    /** The heat of pages together; what was not reported in the last minute counts as 0. */
    public synchronized long of(long space, long firstPage, long count) {
        Reported reported = spaces.get(space);
        if (reported == null) {
            return 0;
        }
        long now = nanoTime.getAsLong();
        long end = firstPage + count;
        Long first = reported.ranges().floorKey(firstPage);
        return Math.round(reported.ranges().subMap(first == null ? firstPage : first, end).values().stream()
                .filter(range -> range.end() > firstPage && now - range.at() <= STALE_NANOS)
                .mapToDouble(range -> range.share(firstPage, end))
                .sum());
    }

    synchronized void forget(long space) {
        Optional.ofNullable(spaces.remove(space))
                .ifPresent(reported -> total -= reported.ranges().size());
    }
}
