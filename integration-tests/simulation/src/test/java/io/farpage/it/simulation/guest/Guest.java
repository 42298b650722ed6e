package io.farpage.it.simulation.guest;

import io.farpage.it.simulation.engine.Engine;
import io.farpage.it.simulation.engine.Node;
import java.nio.file.Path;
import java.util.Random;
import java.util.function.IntPredicate;

/** A virtual machine: its memory, its threads, and what they have stored, against which everything they load is compared. */
public final class Guest {
    private static int numbers;

    private final Engine engine = Engine.get();
    private final int number = ++numbers;
    private final String space;
    private final int pages;
    private final long[] truth;
    private final boolean[] lost;
    private final long[] lastProgress;
    private final int threads;
    private IntPredicate mayBeLost = _ -> false;
    private GuestKernel kernel;
    private Node process;
    private String host = "";
    private long operations;
    private long compared;
    private long versions;
    private boolean stopping;
    private int running;
    private String refusal = "";

    public Guest(String space, int pages, int threads) {
        this.space = space;
        this.pages = pages;
        this.threads = threads;
        truth = new long[pages];
        lost = new boolean[pages];
        lastProgress = new long[threads];
        kernel = new GuestKernel(pages);
        process = engine.running();
    }

    public String space() {
        return space;
    }

    public int pages() {
        return pages;
    }

    public long operations() {
        return operations;
    }

    public long compared() {
        return compared;
    }

    /** Why its memory was refused; empty if it was not. */
    public String refusal() {
        return refusal;
    }

    /** The node whose agent serves it. */
    public String host() {
        return host;
    }

    public Node process() {
        return process;
    }

    public int resident() {
        return kernel.resident();
    }

    /** Which pages may be gone: those whose homes were all lost. */
    public void mayLose(IntPredicate which) {
        mayBeLost = which;
    }

    /** Starts on a host: hands its memory over, and runs its threads. */
    public boolean start(String on, Node vmm, Path socket) {
        host = on;
        process = vmm;
        kernel = new GuestKernel(pages);
        refusal = "";
        String json = "[{\"base_host_virt_addr\":%d,\"size\":%d,\"offset\":0,\"page_size\":%d}]"
                .formatted(GuestKernel.BASE, (long) pages * GuestKernel.PAGE, GuestKernel.PAGE);
        return Handoffs.send(
                socket, new Handoffs.Message(json, kernel.descriptors(), 100_000 + number, reason -> refusal = reason));
    }

    /** Runs its threads until {@link #stop}. */
    public void run() {
        stopping = false;
        for (int i = 0; i < threads; i++) {
            int thread = i;
            lastProgress[i] = engine.now();
            running++;
            process.start("vcpu-" + i + " of " + space, () -> {
                work(thread, new Random(engine.random().nextLong()));
                running--;
            });
        }
    }

    private void work(int thread, Random random) {
        int page = random.nextInt(pages);
        while (!stopping) {
            int kind = random.nextInt(16);
            page = kind < 6
                    ? (page + 1) % pages
                    : kind < 10 ? random.nextInt(Math.max(1, pages / 8)) : random.nextInt(pages);
            if (random.nextInt(100) < 40) {
                store(page);
            } else {
                load(page);
            }
            operations++;
            lastProgress[thread] = engine.now();
            engine.pause(engine.between(200, random.nextInt(100) == 0 ? 50_000_000 : 3_000_000));
        }
    }

    private void store(int page) {
        if (!kernel.touch(page, true)) {
            sigbus(page);
            return;
        }
        long value = ((long) number << 56) | ((long) page << 32) | ++versions;
        kernel.store(page, value);
        truth[page] = value;
    }

    private void load(int page) {
        if (!kernel.touch(page, false)) {
            sigbus(page);
            return;
        }
        long found = kernel.load(page);
        compared++;
        if (found != truth[page]) {
            engine.fail("guest %s, page %d: %s instead of %s"
                    .formatted(space, page, describe(found), describe(truth[page])));
        }
    }

    private static String describe(long value) {
        return value == 0
                ? "zeros"
                : "version %d of page %d of guest %d"
                        .formatted(value & 0xFFFF_FFFFL, value >> 32 & 0xFF_FFFF, value >>> 56);
    }

    private void sigbus(int page) {
        if (!lost[page] && !mayBeLost.test(page)) {
            engine.fail("guest %s, page %d is lost, although a home of it lives".formatted(space, page));
        }
        lost[page] = true;
    }

    /** The longest time that a thread has been at one operation. */
    public long longestWait() {
        long longest = 0;
        for (long last : lastProgress) {
            longest = Math.max(longest, engine.now() - last);
        }
        return running == 0 ? 0 : longest;
    }

    /** Has the threads end after their operations. */
    public void stop() {
        stopping = true;
    }

    public boolean hasStopped() {
        return running == 0;
    }

    /** Loads and compares every page; by a thread of its process. */
    public void compareAll() {
        for (int page = 0; page < pages; page++) {
            load(page);
        }
    }

    /** Its process ends. */
    public void end() {
        kernel.end();
    }
}
