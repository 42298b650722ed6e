package io.farpage.it.harness;

import static io.farpage.it.deadlines.Deadlines.await;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.farpage.it.deadlines.Deadlines;
import io.farpage.linux.Errno;
import io.farpage.linux.FileIo;
import io.farpage.linux.uffd.MemoryFile;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.Recorder;

/**
 * Threads that store to, give up and read paged memory at random, and compare each page that they read with what was
 * stored last. The kernel copies the pages, so that a lost page is an error and no SIGBUS. The longest time that one
 * access took is kept.
 */
public final class CheckedPages implements AutoCloseable {
    private static final int PAGE = 4096;
    private static final int VERSIONS = 4;
    private static final int THREADS = 2;
    private static final int COLD = 400;
    private static final int READ = 99;
    private static final long HIGHEST_NANOS = 100_000_000_000L;

    private final PagedRam ram;
    private final int pages;
    private final int step;
    private final MemoryFile contents;
    private final int[] version;
    private final List<Thread> threads = new ArrayList<>();
    private final AtomicLongArray accesses;
    private final AtomicLong compared = new AtomicLong();
    private final AtomicLong longestNanos = new AtomicLong();
    private final Recorder latencies = new Recorder(HIGHEST_NANOS, 3);
    private final Queue<String> wrong = new ConcurrentLinkedQueue<>();
    private final Set<Integer> lost = ConcurrentHashMap.newKeySet();
    private volatile boolean stopping;
    private volatile boolean readOnly;

    private CheckedPages(PagedRam ram, int pages, int threadCount, long seed) {
        this.ram = ram;
        this.pages = pages;
        step = threadCount;
        accesses = new AtomicLongArray(threadCount);
        version = new int[pages];
        contents = MemoryFile.create("contents", (long) VERSIONS * pages * PAGE);
        Errno errno = Errno.ofThread();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment page = arena.allocate(PAGE, 8);
            for (int number = 0; number < VERSIONS * pages; number++) {
                fill(page, number);
                assertEquals(PAGE, FileIo.write(errno, contents.fd(), page.address(), PAGE));
            }
        }
        for (int i = 0; i < threadCount; i++) {
            int own = i;
            threads.add(Thread.ofPlatform()
                    .daemon()
                    .name("checked-pages-" + i)
                    .start(() -> run(own, new SplittableRandom(seed + own))));
        }
    }

    /** Begins with two threads. */
    public static CheckedPages start(PagedRam ram, int pages, long seed) {
        return start(ram, pages, THREADS, seed);
    }

    /** Begins. Each thread has the pages whose number leaves its own remainder. */
    public static CheckedPages start(PagedRam ram, int pages, int threads, long seed) {
        return new CheckedPages(ram, pages, threads, seed);
    }

    private static void fill(MemorySegment page, int number) {
        for (long at = 0; at < PAGE; at += Long.BYTES) {
            page.set(ValueLayout.JAVA_LONG, at, (number + 1) * 0x9E3779B97F4A7C15L + at);
        }
    }

    private void run(int own, SplittableRandom random) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment found = arena.allocate(PAGE, 8);
            while (!stopping) {
                int page = random.nextInt(pages / step) * step + own;
                long begun = System.nanoTime();
                access(page, choose(page, random), found);
                long took = System.nanoTime() - begun;
                longestNanos.accumulateAndGet(took, Math::max);
                latencies.recordValue(Math.min(took, HIGHEST_NANOS));
                accesses.incrementAndGet(own);
            }
        }
    }

    private int choose(int page, SplittableRandom random) {
        return readOnly || (isCold(page) && random.nextInt(COLD) > 0) ? READ : random.nextInt(100);
    }

    /**
     * Every other page of a thread is seldom stored to, once it has content: what a home lacks of it is not made good
     * by the next store.
     */
    private boolean isCold(int page) {
        return page / step % 2 == 0 && version[page] > 0;
    }

    private void access(int page, int what, MemorySegment found) {
        if (what < 2) {
            ram.remove(page);
            version[page] = 0;
        } else if (what < 34) {
            int next = version[page] % (VERSIONS - 1) + 1;
            if (isThere(page, ram.copyIn(page, contents, ((long) next * pages + page) * PAGE))) {
                version[page] = next;
            }
        } else if (isThere(page, ram.copyOut(page, found))) {
            compare(page, found);
            compared.incrementAndGet();
        }
    }

    private boolean isThere(int page, long result) {
        if (result == PAGE) {
            return true;
        }
        if (result == -Errno.EFAULT) {
            // For good: the kernel keeps a page poisoned that is given up (Linux 6.18).
            lost.add(page);
        } else {
            wrong.add("an access to page " + page + " gave " + result);
        }
        return false;
    }

    private void compare(int page, MemorySegment found) {
        // Version 0 is a page that was never stored to, or was given up.
        int number = version[page] * pages + page;
        long expected = version[page] == 0 ? 0 : (number + 1) * 0x9E3779B97F4A7C15L;
        for (long at = 0; at < PAGE; at += Long.BYTES) {
            long is = found.get(ValueLayout.JAVA_LONG, at);
            if (is != (version[page] == 0 ? 0 : expected + at)) {
                wrong.add("page %d has 0x%x at %d, which is not of version %d".formatted(page, is, at, version[page]));
                return;
            }
        }
    }

    /** What was wrong or lost. */
    public List<String> faults() {
        return Stream.concat(wrong.stream(), lost.stream().map(page -> "page " + page + " is lost"))
                .toList();
    }

    /** What was wrong; pages that are lost are not. */
    public List<String> wrong() {
        return List.copyOf(wrong);
    }

    /** Pages that could not be accessed since they are lost. */
    public Set<Integer> lost() {
        return Set.copyOf(lost);
    }

    /** Pages read and compared so far. */
    public long compared() {
        return compared.get();
    }

    /** Waits for {@code more} further accesses. None of them may find a fault. */
    public void awaitAccesses(long more) {
        long goal = sum() + more;
        await(more + " more accesses", Deadlines.LONG).until(() -> sum() >= goal || !faults().isEmpty());
        assertEquals(List.of(), faults());
    }

    /** Waits until each thread has made {@code more} further accesses; pages may be lost. */
    public void awaitEachThread(long more) {
        long[] goals =
                LongStream.range(0, step).map(i -> accesses.get((int) i) + more).toArray();
        await(more + " more accesses of each thread", Deadlines.LONG)
                .pollInterval(Duration.ofMillis(5))
                .until(() -> !wrong.isEmpty()
                        || IntStream.range(0, step).allMatch(thread -> accesses.get(thread) >= goals[thread]));
        assertEquals(List.of(), wrong());
    }

    /** Waits until {@code more} further pages have been compared; pages may be lost. */
    public void awaitCompared(long more) {
        long goal = compared() + more;
        await(more + " more pages compared", Deadlines.LONG.multipliedBy(4))
                .until(() -> !wrong.isEmpty() || compared() >= goal);
        assertEquals(List.of(), wrong());
    }

    private long sum() {
        return IntStream.range(0, step).mapToLong(accesses::get).sum();
    }

    /** The longest time that an access took since the last call, nanoseconds. */
    public long takeLongestNanos() {
        return longestNanos.getAndSet(0);
    }

    /** How long the accesses since the last call took, nanoseconds; those of resident pages included. */
    public Histogram takeLatencies() {
        return latencies.getIntervalHistogram();
    }

    /** Makes the threads only read from now on. */
    public void readOnly() {
        readOnly = true;
    }

    /** Makes the threads end after the access that each of them makes now, and does not wait for that. */
    public void cease() {
        stopping = true;
    }

    /** Stops the threads. */
    public void stop() {
        cease();
        await("the end of the threads", Deadlines.LONG)
                .until(() -> threads.stream().noneMatch(Thread::isAlive));
    }

    /** What a page holds after {@link #stop}. */
    public byte[] content(int page) {
        byte[] bytes = new byte[PAGE];
        if (version[page] > 0) {
            long[] words = new long[PAGE / Long.BYTES];
            MemorySegment filled = MemorySegment.ofArray(words);
            fill(filled, version[page] * pages + page);
            MemorySegment.copy(
                    filled,
                    ValueLayout.JAVA_LONG,
                    0,
                    MemorySegment.ofArray(bytes),
                    ValueLayout.JAVA_LONG_UNALIGNED,
                    0,
                    words.length);
        }
        return bytes;
    }

    @Override
    public void close() {
        stop();
        contents.close();
    }
}
