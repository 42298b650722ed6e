package io.farpage.it.harness;

import io.farpage.it.deadlines.Deadlines;
import java.time.Duration;
import java.time.Instant;
import java.util.List;

/**
 * How long threads of a guest stand still: the longest time in which one of them finishes no operation, looked at every
 * millisecond.
 */
public final class Pause {
    /** A thread's longest pause is over after this number of operations. */
    private static final int OPERATIONS = 100;
    /** In a shorter pause the thread may only have had no CPU. */
    private static final long SHORTEST_NANOS = Duration.ofMillis(20).toNanos();

    private final ShadowedRam ram;
    private final long[] operations;
    private final long[] since;
    private final long[] longest;
    private final Instant[] endedAt;
    private final long[] resumedAt;

    private volatile boolean over;
    private final Thread watch;

    private Pause(ShadowedRam ram) {
        this.ram = ram;
        int threads = ram.operationsOfThreads().size();
        operations = new long[threads];
        since = new long[threads];
        longest = new long[threads];
        endedAt = new Instant[threads];
        resumedAt = new long[threads];
        long now = System.nanoTime();
        for (int i = 0; i < threads; i++) {
            operations[i] = ram.operationsOfThreads().get(i);
            since[i] = now;
        }
        watch = Thread.ofPlatform().daemon().name("pause").start(this::watch);
    }

    /** Begins to watch. */
    public static Pause begin(ShadowedRam ram) {
        return new Pause(ram);
    }

    private void watch() {
        try {
            while (!over) {
                Thread.sleep(1);
                look();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private synchronized void look() {
        List<Long> seen = ram.operationsOfThreads();
        long now = System.nanoTime();
        for (int i = 0; i < operations.length; i++) {
            if (seen.get(i) != operations[i]) {
                if (now - since[i] > longest[i]) {
                    longest[i] = now - since[i];
                    endedAt[i] = Instant.now();
                    resumedAt[i] = operations[i];
                }
                operations[i] = seen.get(i);
                since[i] = now;
            }
        }
    }

    private synchronized boolean isOver() {
        for (int i = 0; i < operations.length; i++) {
            if (longest[i] < SHORTEST_NANOS || operations[i] < resumedAt[i] + OPERATIONS) {
                return false;
            }
        }
        return true;
    }

    /** Waits until every thread has paused and goes on. */
    public Pause await() throws InterruptedException {
        Deadlines.await("the guest goes on", Deadlines.LONG.multipliedBy(2)).until(this::isOver);
        over = true;
        watch.join();
        return this;
    }

    /** The longest pause of any thread. */
    public Duration longest() {
        return Duration.ofNanos(longest[ofLongest()]);
    }

    private synchronized int ofLongest() {
        int thread = 0;
        for (int i = 1; i < longest.length; i++) {
            thread = longest[i] > longest[thread] ? i : thread;
        }
        return thread;
    }

    /** Median, longest and count of several. */
    public static String summary(List<Pause> pauses) {
        List<Long> millis =
                pauses.stream().map(one -> one.longest().toMillis()).sorted().toList();
        return "p50 %d ms, longest %d ms, of %d"
                .formatted(millis.get(millis.size() / 2), millis.getLast(), millis.size());
    }

    @Override
    public String toString() {
        return "the guest's threads paused for %d ms at most, until %s (TCP, 4096, one host)"
                .formatted(longest().toMillis(), endedAt[ofLongest()]);
    }
}
