package io.farpage.it.harness;

import io.farpage.it.deadlines.Deadlines;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A guest with a memory file that stores {@link CountedPages} all the time, and now and then compares a page with what
 * it must hold. It can be paused between two stores.
 */
public final class CountedGuest implements AutoCloseable {
    private static final int PAGE = 4096;
    /** Between stores, so that the guest leaves some of the machine to others. */
    private static final long PACE_NANOS = 100_000;

    private final CountedPages pages;
    private final PagedRam ram;
    private final ReentrantLock running = new ReentrantLock(true);
    private final SplittableRandom random;
    private final Arena arena = Arena.ofShared();
    private final MemorySegment found = arena.allocate(PAGE, 8);
    private final List<String> wrong = new ArrayList<>();
    private final AtomicLong stores = new AtomicLong();
    private final AtomicLong compared = new AtomicLong();
    private final Thread thread;
    private volatile boolean stopping;

    private CountedGuest(CountedPages pages, PagedRam ram) {
        this.pages = pages;
        this.ram = ram;
        random = new SplittableRandom(pages.seed());
        thread = Thread.ofPlatform().daemon().name("counted-guest").start(this::run);
    }

    /** Hands memory over to the agent that listens at {@code socket}, and starts the guest. */
    public static CountedGuest start(Path socket, CountedPages pages) {
        return new CountedGuest(pages, PagedRam.handOver(socket, pages.pages()));
    }

    private void run() {
        while (!stopping) {
            running.lock();
            try {
                long store = stores.get();
                ram.write(pages.page(store), pages.content(store, PAGE));
                stores.incrementAndGet();
                if (random.nextInt(4) == 0) {
                    compare(random.nextInt(pages.pages()));
                }
            } finally {
                running.unlock();
            }
            LockSupport.parkNanos(PACE_NANOS);
        }
    }

    private void compare(int page) {
        ram.read(page, found);
        compared.incrementAndGet();
        long at = pages.wrongAt(found, page, stores.get());
        if (at >= 0) {
            wrong.add("the source's page %d is wrong at byte %d after %d stores".formatted(page, at, stores.get()));
        }
    }

    /** Stores so far. Any thread. */
    public long stores() {
        return stores.get();
    }

    /** Pages compared so far. Any thread. */
    public long compared() {
        return compared.get();
    }

    /**
     * Runs an action while the guest stands still between two stores.
     *
     * @return how many stores it has made by then
     */
    public long whilePaused(Runnable action) throws InterruptedException {
        Deadlines.Wait wait = Deadlines.begin("the guest's pause", Deadlines.LONG);
        while (!running.tryLock(100, TimeUnit.MILLISECONDS)) {
            wait.check();
        }
        try {
            action.run();
            return stores.get();
        } finally {
            running.unlock();
        }
    }

    /** Stops the guest, compares all its pages, and tells what it has found wrong since it was started. */
    public List<String> stopAndCompareAll(Duration quiet) throws InterruptedException {
        stopping = true;
        Deadlines.join("the end of the guest's thread", quiet, thread);
        for (int page = 0; page < pages.pages(); page++) {
            compare(page);
        }
        return List.copyOf(wrong);
    }

    /** The VMM's end. The guest has been stopped. */
    @Override
    public void close() {
        ram.close();
        arena.close();
    }
}
