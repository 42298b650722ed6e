package io.farpage.agent.control.latency;

import io.farpage.agent.control.ControlThread;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.HdrHistogram.Histogram;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes the latencies of every interval to disk, on a thread of its own. If the disk takes none, because it is full or
 * stands still, intervals are lost and counted; the log of the agent says so once, and once when intervals are written
 * again. Recorders are not held up.
 */
public final class LatencyLog implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(LatencyLog.class);
    private static final Duration LAST_TIMEOUT = Duration.ofSeconds(3);
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(1);

    private final Options options;
    private final LatencyRecord record;
    private final IntervalLogFile file;
    private final Supplier<Instant> clock;
    private final ControlThread thread;
    private long from;
    private long due;
    private long lostInARow;
    private final CountDownLatch last = new CountDownLatch(1);
    private volatile boolean started;
    private volatile boolean ending;
    private final AtomicLong written = new AtomicLong();
    private final AtomicLong lost = new AtomicLong();

    /**
     * Where and how much is logged.
     *
     * @param directory made if missing
     * @param interval of the lines
     * @param maxBytes of one file
     * @param keep full files beside the one that is written
     */
    public record Options(Path directory, Duration interval, long maxBytes, int keep) {}

    /**
     * Prepares a log. Nothing is written before {@link #start}.
     *
     * @param node is in the names of the files
     * @param series listed anew for each interval
     * @param clock tells the time of each line
     */
    public LatencyLog(Options options, String node, Supplier<List<LatencySeries>> series, Supplier<Instant> clock) {
        this.options = options;
        this.clock = clock;
        record = new LatencyRecord(series);
        file = new IntervalLogFile(
                new IntervalLogFile.Options(options.directory(), node, options.maxBytes(), options.keep()), clock);
        from = clock.get().toEpochMilli();
        thread = ControlThread.ofPlatform(
                "latency-log",
                new ControlThread.Pauses(options.interval(), options.interval(), CLOSE_TIMEOUT),
                this::step);
    }

    public void start() {
        started = true;
        due = System.nanoTime() + options.interval().toNanos();
        thread.start();
    }

    private Duration step() {
        boolean end = ending;
        log();
        if (end) {
            file.close();
            last.countDown();
            return ControlThread.UNTIL_WOKEN;
        }
        long now = System.nanoTime();
        long next = due + options.interval().toNanos();
        due = next - now > 0 ? next : now + options.interval().toNanos();
        return Duration.ofNanos(due - now);
    }

    /** Logs what was recorded since the last call. */
    void log() {
        long to = Math.max(clock.get().toEpochMilli(), from + 1);
        SortedMap<String, Histogram> series = new TreeMap<>(record.take().bySeries());
        // A sum is logged though nothing was recorded, so that the log shows that the agent ran.
        series.entrySet()
                .removeIf(each -> each.getValue().getTotalCount() == 0
                        && !LatencySeries.sum(each.getKey()).equals(each.getKey()));
        try {
            file.append(from, to, series);
            written.incrementAndGet();
            wrote();
        } catch (IOException e) {
            lost.incrementAndGet();
            lost(e);
        }
        from = to;
    }

    private void wrote() {
        if (lostInARow > 0) {
            log.info(
                    "latency.directory {}: latencies are logged again; {} intervals of {} ms were lost",
                    options.directory(),
                    lostInARow,
                    TimeUnit.NANOSECONDS.toMillis(options.interval().toNanos()));
        }
        lostInARow = 0;
    }

    private void lost(IOException e) {
        if (lostInARow++ == 0) {
            log.error(
                    "latency.directory {}: latencies are not logged, and guests are not affected: {}; free space there,"
                            + " or set latency.directory to a directory that this agent may write to",
                    options.directory(),
                    e.toString());
        }
    }

    /** Intervals written. Any thread. */
    public long written() {
        return written.get();
    }

    /** Intervals that the disk did not take. Any thread. */
    public long lost() {
        return lost.get();
    }

    /** Logs the rest, unless the disk stands still: then its thread is left behind. */
    @Override
    public void close() {
        if (!started) {
            file.close();
        } else {
            ending = true;
            thread.wake();
            try {
                if (!last.await(LAST_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS)) {
                    log.warn(
                            "latency.directory {}: the last interval is not written within {}",
                            options.directory(),
                            LAST_TIMEOUT);
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
        thread.close();
    }
}
