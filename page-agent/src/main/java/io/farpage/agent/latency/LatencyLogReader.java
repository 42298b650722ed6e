package io.farpage.agent.latency;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Predicate;
import org.HdrHistogram.EncodableHistogram;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramLogReader;

/** Reads the intervals of a log of HdrHistogram's format. */
public final class LatencyLogReader {
    /** Series of intervals without a tag. */
    private static final String UNTAGGED = "untagged";

    private static final double MILLIS_PER_SECOND = 1e3;

    private LatencyLogReader() {}

    /**
     * Reads a log from its begin to its end. Lines of one interval follow each other.
     *
     * @param each is given each interval in turn, and says whether to go on
     * @return whether it was read to its end
     * @throws IOException naming the file, if it cannot be read or is not such a log
     */
    public static boolean read(Path file, Predicate<LatencyInterval> each) throws IOException {
        if (!Files.isRegularFile(file)) {
            throw new IOException(
                    "%s is not a file; give one of the files latency-*.hlog in latency.directory".formatted(file));
        }
        boolean any = false;
        SortedMap<String, Histogram> series = new TreeMap<>();
        EncodableHistogram first = null;
        try (HistogramLogReader reader = new HistogramLogReader(file.toFile())) {
            while (reader.hasNext()) {
                EncodableHistogram next = reader.nextIntervalHistogram();
                if (!(next instanceof Histogram nanos)) {
                    continue;
                }
                any = true;
                if (first != null && !sameInterval(first, nanos)) {
                    if (!each.test(interval(first, series))) {
                        return false;
                    }
                    series = new TreeMap<>();
                    first = null;
                }
                first = first == null ? nanos : first;
                series.put(nanos.getTag() == null ? UNTAGGED : nanos.getTag(), nanos);
            }
        } catch (FileNotFoundException e) {
            throw new IOException("%s cannot be read: %s".formatted(file, e.getMessage()), e);
        } catch (RuntimeException e) {
            throw noLog(file, e.toString());
        }
        if (!any && Files.size(file) > 0) {
            requireHead(file);
        }
        return first == null || each.test(interval(first, series));
    }

    private static void requireHead(Path file) throws IOException {
        byte[] head = Files.readAllBytes(file);
        if (head[0] != '#') {
            throw noLog(file, "it has no interval");
        }
    }

    private static IOException noLog(Path file, String why) {
        return new IOException(("%s is not an interval log of HdrHistogram: %s; give one of the files latency-*.hlog in"
                        + " latency.directory")
                .formatted(file, why));
    }

    private static boolean sameInterval(EncodableHistogram one, EncodableHistogram other) {
        return one.getStartTimeStamp() == other.getStartTimeStamp() && one.getEndTimeStamp() == other.getEndTimeStamp();
    }

    private static LatencyInterval interval(EncodableHistogram first, SortedMap<String, Histogram> series) {
        return new LatencyInterval(
                Instant.ofEpochMilli(first.getStartTimeStamp()),
                Math.max(1, first.getEndTimeStamp() - first.getStartTimeStamp()) / MILLIS_PER_SECOND,
                series);
    }
}
