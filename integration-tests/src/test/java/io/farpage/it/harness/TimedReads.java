package io.farpage.it.harness;

import static io.farpage.it.deadlines.Deadlines.await;

import io.farpage.it.deadlines.Deadlines;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.Recorder;

/**
 * Threads that read pages of paged memories at random, compare each with what {@link #fill} wrote, and record how long
 * each read takes.
 */
public final class TimedReads implements AutoCloseable {
    private static final int PAGE = 4096;
    private static final long HIGHEST_NANOS = 100_000_000_000L;

    private volatile List<PagedRam> rams;
    private final Choice choice;
    private final Recorder latencies = new Recorder(HIGHEST_NANOS, 3);
    private final Queue<String> wrong = new ConcurrentLinkedQueue<>();
    private final List<Thread> threads = new ArrayList<>();
    private volatile boolean over;

    /** Which page is read next. */
    @FunctionalInterface
    public interface Choice {
        int page(SplittableRandom random);
    }

    private TimedReads(List<PagedRam> rams, Choice choice) {
        this.rams = rams;
        this.choice = choice;
    }

    /** Begins. Each read is of a memory that is chosen at random, all as likely. */
    public static TimedReads start(List<PagedRam> rams, Choice choice, int threads) {
        TimedReads reads = new TimedReads(rams, choice);
        for (int i = 0; i < threads; i++) {
            SplittableRandom random = new SplittableRandom(i);
            reads.threads.add(
                    Thread.ofPlatform().daemon().name("timed-reads-" + i).start(() -> reads.run(random)));
        }
        return reads;
    }

    /** Writes the first pages of a memory; no two pages are the same. */
    public static void fill(PagedRam ram, int pages) {
        byte[] bytes = new byte[PAGE];
        MemorySegment content = MemorySegment.ofArray(bytes);
        for (int page = 0; page < pages; page++) {
            for (int at = 0; at < PAGE; at += Long.BYTES) {
                content.set(ValueLayout.JAVA_LONG_UNALIGNED, at, word(page, at));
            }
            ram.write(page, bytes);
        }
    }

    private static long word(int page, int at) {
        return (page + 1) * 0x9E3779B97F4A7C15L + at;
    }

    private void run(SplittableRandom random) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment found = arena.allocate(PAGE, Long.BYTES);
            while (!over) {
                List<PagedRam> of = rams;
                PagedRam ram = of.get(random.nextInt(of.size()));
                int page = choice.page(random);
                long begun = System.nanoTime();
                ram.read(page, found);
                latencies.recordValue(Math.min(System.nanoTime() - begun, HIGHEST_NANOS));
                compare(page, found);
            }
        }
    }

    private void compare(int page, MemorySegment found) {
        for (int at = 0; at < PAGE; at += Long.BYTES) {
            long is = found.get(ValueLayout.JAVA_LONG, at);
            if (is != word(page, at)) {
                wrong.add("page %d has 0x%x at %d, not 0x%x".formatted(page, is, at, word(page, at)));
                return;
            }
        }
    }

    /** Lets the reads be of other memories from now on. */
    public TimedReads of(List<PagedRam> others) {
        rams = others;
        return this;
    }

    /**
     * Waits so long, and returns how long the reads that ended meanwhile took, nanoseconds; those of resident pages
     * included.
     */
    public Histogram during(Duration time) throws InterruptedException {
        latencies.getIntervalHistogram();
        Thread.sleep(time);
        return latencies.getIntervalHistogram();
    }

    /** Pages that did not hold what was written, so far. */
    public List<String> wrong() {
        return List.copyOf(wrong);
    }

    @Override
    public void close() {
        over = true;
        await("the end of the reads", Deadlines.LONG)
                .until(() -> threads.stream().noneMatch(Thread::isAlive));
    }
}
