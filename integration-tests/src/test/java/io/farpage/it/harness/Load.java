package io.farpage.it.harness;

import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;

/** Reads pages of one space through one agent, over and over, and checks every byte of every answer. */
public final class Load implements AutoCloseable {
    /** A page that was not had. */
    public record Refusal(int status, String type, String detail, Duration took) {}

    private final Agent through;
    private final String space;
    private final int pages;
    private final int pageSize;
    private final long seed;
    private final AtomicLong read = new AtomicLong();
    private final Queue<Refusal> refusals = new ConcurrentLinkedQueue<>();
    private final Queue<String> faults = new ConcurrentLinkedQueue<>();
    private final List<Thread> threads = new ArrayList<>();
    private volatile boolean stopping;

    private Load(Agent through, String space, int pages, int pageSize, long seed) {
        this.through = through;
        this.space = space;
        this.pages = pages;
        this.pageSize = pageSize;
        this.seed = seed;
    }

    /** Starts readers of a space that was filled with {@link Pages}. */
    public static Load start(Agent through, String space, int pages, int pageSize, long seed, int readers) {
        Load load = new Load(through, space, pages, pageSize, seed);
        for (int i = 0; i < readers; i++) {
            int first = i * pages / readers;
            load.threads.add(Thread.ofVirtual().name("reader-" + i).start(() -> load.run(first)));
        }
        return load;
    }

    private void run(int first) {
        for (int page = first; !stopping; page = (page + 1) % pages) {
            long began = System.nanoTime();
            try {
                Answer answer = through.page(space, page);
                if (answer.status() == 200) {
                    Pages.check(answer.body(), seed, page, pageSize);
                    read.incrementAndGet();
                } else {
                    var problem = answer.problem();
                    refusals.add(new Refusal(
                            answer.status(),
                            problem.type(),
                            problem.detail(),
                            Duration.ofNanos(System.nanoTime() - began)));
                }
            } catch (AssertionError e) {
                faults.add(e.toString());
            } catch (UncheckedIOException e) {
                faults.add(e + ": " + e.getCause());
            }
        }
    }

    /** Pages that were read and right. */
    public long read() {
        return read.get();
    }

    /** Answers other than the page. */
    public List<Refusal> refusals() {
        return List.copyOf(refusals);
    }

    /** Wrong pages, and requests without an answer: never allowed. */
    public List<String> faults() {
        return List.copyOf(faults);
    }

    @Override
    public void close() {
        end();
    }

    /** Stops and waits for what is under way. */
    public void end() {
        stopping = true;
        for (Thread thread : threads) {
            try {
                thread.join();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
