package io.farpage.coordinator.cluster;

import io.farpage.coordinator.model.HeatReport;
import io.farpage.rest.ProblemException;
import java.util.HashMap;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;

/** How warm pages are, as last reported. In memory only, since it is a hint and soon out of date. Thread-safe. */
public final class Heat {

    private static final int MOST_RANGES = 1 << 18;

    private final Map<Long, NavigableMap<Long, HeatReport.Range>> spaces = new HashMap<>();

    /** Makes an empty one. */
    public Heat() {}

    /** Takes a report in; it replaces what it overlaps. */
    public synchronized void report(long space, HeatReport report) {
        NavigableMap<Long, HeatReport.Range> ranges = spaces.computeIfAbsent(space, id -> new TreeMap<>());
        if (ranges.size() + report.ranges().size() > MOST_RANGES) {
            throw new ProblemException(
                    413,
                    "too-large",
                    "more than %d ranges of heat for one space; report longer ranges".formatted(MOST_RANGES));
        }
        for (HeatReport.Range range : report.ranges()) {
            cut(ranges, range.firstPage(), range.firstPage() + range.count());
            ranges.put(range.firstPage(), range);
        }
    }

    /** Takes the pages from {@code from} to before {@code to} out, leaving what sticks out on either side. */
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
                .map(ranges -> ranges.floorEntry(page))
                .map(Map.Entry::getValue)
                .filter(range -> page < end(range))
                .map(HeatReport.Range::heat)
                .orElse(0L);
    }

    synchronized void forget(long space) {
        spaces.remove(space);
    }
}
