package io.farpage.it.simulation.guest;

import io.farpage.it.simulation.engine.Engine;
import io.farpage.it.simulation.engine.Node;
import java.nio.file.Path;
import java.util.Random;
import java.util.StringJoiner;
import java.util.function.IntPredicate;

/**
 * A virtual machine: its memory, its threads, and what they have stored, against which everything they load is
 * compared.
 */
public final class Guest {
    private static int numbers;
    /** What threads store whose host the space was taken away from. */
    private static final long STALE = -1;

    private final Engine engine = Engine.get();
    private final int number = ++numbers;
    private final String space;
    private final int pages;
    private final long[] truth;
    private final boolean[] lost;
    /** Pages that a thread gives up at this moment: others leave them alone. */
    private final boolean[] removing;

    private final long[] lastProgress;
    private final int threads;
    private final long pace;
    private IntPredicate mayBeLost = _ -> false;
    private final int slices;
    private GuestKernel kernel;
    private Node process;
    private String host = "";
    private long operations;
    private long compared;
    private long versions;
    private boolean stopping;
    private int running;
    /**
     * Counts the hosts that had the space taken away from them: threads of an earlier life store what counts no more.
     */
    private int life;
    /** Pages that may be found in an earlier version, since the host that stored the latest was cut off. */
    private final boolean[] unknown;

    /**
     * @param pace nanoseconds between two operations of a thread, at most; rarely longer
     * @param slices userfaultfds that its memory is registered with, each a part of it; 1 or 2
     */
    public Guest(String space, int pages, int threads, long pace, int slices) {
        this.pace = pace;
        this.slices = slices;
        this.space = space;
        this.pages = pages;
        this.threads = threads;
        truth = new long[pages];
        lost = new boolean[pages];
        removing = new boolean[pages];
        unknown = new boolean[pages];
        lastProgress = new long[threads];
        kernel = new GuestKernel(pages, slices);
        process = engine.running();
    }

    public String space() {
        return space;
    }

    public int pages() {
        return pages;
    }

    /** Userfaultfds. */
    public int slices() {
        return slices;
    }

    public long operations() {
        return operations;
    }

    public long compared() {
        return compared;
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
        kernel = new GuestKernel(pages, slices);
        StringJoiner json = new StringJoiner(",", "[", "]");
        for (int i = 0; i < slices; i++) {
            long offset = kernel.firstOf(i) * (long) GuestKernel.PAGE;
            long size = (kernel.firstOf(i + 1) - kernel.firstOf(i)) * (long) GuestKernel.PAGE;
            json.add("{\"base_host_virt_addr\":%d,\"size\":%d,\"offset\":%d,\"page_size\":%d,\"userfaultfd\":%d}"
                    .formatted(GuestKernel.BASE + offset, size, offset, GuestKernel.PAGE, i));
        }
        return Handoffs.send(
                socket,
                new Handoffs.Message(
                        json.toString(),
                        kernel.descriptors(),
                        100_000 + number,
                        reason -> engine.fail("the memory of " + space + " is refused: " + reason)));
    }

    /** Runs its threads until {@link #stop}. */
    public void run() {
        stopping = false;
        int current = life;
        GuestKernel own = kernel;
        for (int i = 0; i < threads; i++) {
            int thread = i;
            lastProgress[i] = engine.now();
            running++;
            process.start("vcpu-" + i + " of " + space, () -> {
                work(thread, new Random(engine.random().nextLong()), current);
                if (current == life) {
                    running--;
                } else {
                    workInVain(own, new Random(engine.random().nextLong()));
                }
            });
        }
    }

    /** The space is another host's: whatever the threads of this one store, no page may show it. */
    private void workInVain(GuestKernel own, Random random) {
        while (!own.hasEnded()) {
            int page = random.nextInt(pages);
            if (own.touch(page, true)) {
                own.store(page, STALE);
            }
            engine.pause(engine.between(200, pace));
        }
    }

    /**
     * Its host is taken the space away from, or dies: the next one may find any version of a page, but from then on
     * that one.
     */
    public GuestKernel abandon() {
        life++;
        running = 0;
        java.util.Arrays.fill(unknown, true);
        java.util.Arrays.fill(removing, false);
        return kernel;
    }

    /** As {@link #abandon}, where the next host begins with zeros. */
    public GuestKernel abandonPages() {
        GuestKernel left = abandon();
        java.util.Arrays.fill(unknown, false);
        java.util.Arrays.fill(truth, 0);
        return left;
    }

    private void work(int thread, Random random, int current) {
        int page = random.nextInt(pages);
        while (!stopping && current == life) {
            int kind = random.nextInt(16);
            page = kind < 6
                    ? (page + 1) % pages
                    : kind < 10 ? random.nextInt(Math.max(1, pages / 8)) : random.nextInt(pages);
            if (random.nextInt(200) == 0) {
                remove(page, random, current);
            } else if (random.nextInt(100) < 40) {
                store(page, random, current);
            } else {
                load(page, current);
            }
            operations++;
            lastProgress[thread] = engine.now();
            engine.pause(engine.between(200, random.nextInt(100) == 0 ? 16 * pace : pace));
        }
    }

    private void store(int page, Random random, int current) {
        if (removing[page]) {
            return;
        }
        if (!kernel.touch(page, true)) {
            sigbus(page, current);
            return;
        }
        if (removing[page] || current != life) {
            return;
        }
        unknown[page] = false;
        // Some pages become zeros again, which are stored without their content.
        long value = random.nextInt(12) == 0 ? 0 : ((long) number << 56) | ((long) page << 32) | ++versions;
        kernel.store(page, value);
        truth[page] = value;
    }

    /** Gives pages up, as a balloon does: they are zeros afterwards. While that lasts, they may be either. */
    private void remove(int first, Random random, int current) {
        int count = 1 + random.nextInt(Math.min(8, kernel.endOf(first) - first));
        for (int page = first; page < first + count; page++) {
            if (removing[page] || lost[page]) {
                return;
            }
        }
        java.util.Arrays.fill(removing, first, first + count, true);
        kernel.remove(first, count);
        if (current != life) {
            return;
        }
        java.util.Arrays.fill(unknown, first, first + count, false);
        java.util.Arrays.fill(truth, first, first + count, 0);
        java.util.Arrays.fill(removing, first, first + count, false);
    }

    private void load(int page, int current) {
        if (!kernel.touch(page, false)) {
            sigbus(page, current);
            return;
        }
        if (removing[page] || current != life) {
            return;
        }
        long found = kernel.load(page);
        compared++;
        if (unknown[page] && isVersionOf(page, found)) {
            unknown[page] = false;
            truth[page] = found;
        }
        if (found != truth[page]) {
            engine.fail("guest %s, page %d: %s instead of %s"
                    .formatted(space, page, describe(found), describe(truth[page])));
        }
    }

    private boolean isVersionOf(int page, long value) {
        return value == 0 || (value != STALE && value >>> 56 == number && (value >> 32 & 0xFF_FFFF) == page);
    }

    private static String describe(long value) {
        return value == 0
                ? "zeros"
                : value == STALE
                        ? "what a host stored that was cut off"
                        : "version %d of page %d of guest %d"
                                .formatted(value & 0xFFFF_FFFFL, value >> 32 & 0xFF_FFFF, value >>> 56);
    }

    private void sigbus(int page, int current) {
        if (current != life) {
            return;
        }
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
            load(page, life);
        }
    }

    /** Its process ends. */
    public void end() {
        kernel.end();
    }
}
