package io.farpage.it.simulation.guest;

import io.farpage.it.simulation.engine.Engine;
import io.farpage.it.simulation.engine.Node;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.function.IntPredicate;

/**
 * A virtual machine: its memory, its threads, and what they have stored, against which everything they load is
 * compared.
 */
public final class Guest {
    private static int numbers;
    /** What threads store whose host the space was taken away from. */
    private static final long STALE = -1;
    /** The last of the kinds of steps from one cell to the next. */
    private static final int ANYWHERE = 15;

    private static final long REST_NANOS = 10_000_000;
    private static final long RUSH_NANOS = 300_000;

    private final Engine engine = Engine.get();
    private final int number = ++numbers;
    /** Its own, and those of the guests whose pages it began with. */
    private final Set<Integer> lineage = new HashSet<>(Set.of(number));

    private final String space;
    private final MemoryShape shape;
    private final int cells;
    /** By cell, as all that follows. */
    private final long[] truth;

    private final boolean[] lost;
    /** Cells that a thread gives up at this moment: others leave them alone. */
    private final boolean[] removing;

    private final long[] lastProgress;
    private final int threads;
    private final long pace;
    private IntPredicate mayBeLost = _ -> false;
    private GuestKernel kernel;
    private Node process;
    private Optional<Handoffs.Connection> handoff = Optional.empty();
    private String host = "";
    private long operations;
    private long compared;
    private long versions;
    private boolean stopping;
    private int runs;
    private int running;
    private int resting;
    private Activity activity = Activity.USUAL;
    /**
     * Counts the hosts that had the space taken away from them: threads of an earlier life store what counts no more.
     */
    private int life;
    /** Cells that may be found in an earlier version, since the host that stored the latest was cut off. */
    private final boolean[] unknown;

    /** What its threads do. */
    public enum Activity {
        /** What they do unless told otherwise. */
        USUAL,
        /** Nothing: the guest takes no fault. */
        REST,
        /** Touch pages here and there in the first slice, as fast as they can. */
        RUSH
    }

    /** @param pace nanoseconds between two operations of a thread, at most; rarely longer */
    public Guest(String space, MemoryShape shape, int threads, long pace) {
        this.pace = pace;
        this.space = space;
        this.shape = shape;
        this.threads = threads;
        cells = shape.cells();
        truth = new long[cells];
        lost = new boolean[cells];
        removing = new boolean[cells];
        unknown = new boolean[cells];
        lastProgress = new long[threads];
        kernel = new GuestKernel(shape);
        process = engine.running();
    }

    /** A guest that begins with the pages that this one has left, in a space that is a clone of its. */
    public Guest cloned(String name) {
        Guest clone = new Guest(name, shape, threads, pace);
        clone.lineage.addAll(lineage);
        System.arraycopy(truth, 0, clone.truth, 0, cells);
        System.arraycopy(unknown, 0, clone.unknown, 0, cells);
        return clone;
    }

    public String space() {
        return space;
    }

    public MemoryShape shape() {
        return shape;
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

    /** Resident pages that are not zeros: those come back when it is unparked. */
    public int filled() {
        return kernel.filled();
    }

    /** Which pages may be gone: those whose homes were all lost. */
    public void mayLose(IntPredicate which) {
        mayBeLost = which;
    }

    /** Starts on a host: hands its memory over. False if no agent listens. */
    public boolean start(String on, Node vmm, Path socket) {
        host = on;
        process = vmm;
        kernel = new GuestKernel(shape);
        handoff = Handoffs.send(
                socket, new Handoffs.Message(space, kernel.layout(), kernel.descriptors(), 100_000 + number));
        return handoff.isPresent();
    }

    /** Whether the agent has taken the memory, or has ended. */
    public boolean isHandedOver() {
        return handoff.orElseThrow().isOver();
    }

    /** Whether the VMM is to believe that the agent has taken the memory. */
    public boolean isTaken() {
        return handoff.orElseThrow().isTaken();
    }

    /** Runs its threads until {@link #stop}. */
    public void run() {
        stopping = false;
        runs++;
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
            int cell = random.nextInt(cells);
            if (own.touch(cell, true)) {
                own.store(cell, STALE);
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
        resting = 0;
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
        int cell = random.nextInt(cells);
        while (!stopping && current == life) {
            if (activity == Activity.REST) {
                rest(thread, current);
                continue;
            }
            boolean isRushing = activity == Activity.RUSH;
            int kind = isRushing ? ANYWHERE : random.nextInt(ANYWHERE + 1);
            cell = kind < 6
                    ? (cell + 1) % cells
                    : kind < 10
                            ? random.nextInt(Math.max(1, cells / 8))
                            : random.nextInt(isRushing ? kernel.endOf(0) : cells);
            if (random.nextInt(200) == 0) {
                remove(cell, random, current);
            } else if (random.nextInt(100) < 40) {
                store(cell, random, current);
            } else {
                load(cell, current);
            }
            operations++;
            lastProgress[thread] = engine.now();
            long most = random.nextInt(100) == 0 ? 16 * pace : pace;
            engine.pause(engine.between(200, activity == Activity.RUSH ? RUSH_NANOS : most));
        }
    }

    private void rest(int thread, int current) {
        resting++;
        while (activity == Activity.REST && !stopping && current == life) {
            lastProgress[thread] = engine.now();
            engine.pause(REST_NANOS);
        }
        resting -= current == life ? 1 : 0;
    }

    private void store(int cell, Random random, int current) {
        if (removing[cell]) {
            return;
        }
        if (!kernel.touch(cell, true)) {
            sigbus(cell, current);
            return;
        }
        if (removing[cell] || current != life) {
            return;
        }
        unknown[cell] = false;
        // Some pages become zeros again, which are stored without their content.
        long value = random.nextInt(12) == 0 ? 0 : ((long) number << 56) | ((long) cell << 32) | ++versions;
        kernel.store(cell, value);
        truth[cell] = value;
    }

    /**
     * Gives cells up, as a balloon does: they are zeros afterwards, but for parts of pages that are not resident. While
     * that lasts, they may be either.
     */
    private void remove(int first, Random random, int current) {
        int count = 1 + random.nextInt(Math.min(8, kernel.endOf(first) - first));
        for (int cell = first; cell < first + count; cell++) {
            if (removing[cell] || lost[cell]) {
                return;
            }
        }
        java.util.Arrays.fill(removing, first, first + count, true);
        boolean[] zeros = kernel.remove(first, count);
        if (current != life) {
            return;
        }
        for (int i = 0; i < count; i++) {
            unknown[first + i] &= !zeros[i];
            truth[first + i] = zeros[i] ? 0 : truth[first + i];
        }
        java.util.Arrays.fill(removing, first, first + count, false);
    }

    private void load(int cell, int current) {
        if (!kernel.touch(cell, false)) {
            sigbus(cell, current);
            return;
        }
        if (removing[cell] || current != life) {
            return;
        }
        long found = kernel.load(cell);
        compared++;
        if (unknown[cell] && isVersionOf(cell, found)) {
            unknown[cell] = false;
            truth[cell] = found;
        }
        if (found != truth[cell]) {
            engine.fail("guest %s, %s: %s instead of %s"
                    .formatted(space, name(cell), describe(found), describe(truth[cell])));
        }
    }

    private String name(int cell) {
        return (shape.isLarge() ? "part %d of ".formatted(cell % shape.cellsPerPage()) : "")
                + "page %d".formatted(shape.pageOf(cell));
    }

    private boolean isVersionOf(int cell, long value) {
        return value == 0
                || (value != STALE && lineage.contains((int) (value >>> 56)) && (value >> 32 & 0xFF_FFFF) == cell);
    }

    private String describe(long value) {
        return value == 0
                ? "zeros"
                : value == STALE
                        ? "what a host stored that was cut off"
                        : "version %d of %s of guest %d"
                                .formatted(value & 0xFFFF_FFFFL, name((int) (value >> 32 & 0xFF_FFFF)), value >>> 56);
    }

    private void sigbus(int cell, int current) {
        if (current != life) {
            return;
        }
        if (!lost[cell] && !mayBeLost.test(cell)) {
            engine.fail("guest %s, %s is lost, although a home of it lives".formatted(space, name(cell)));
        }
        lost[cell] = true;
    }

    /** The longest time that a thread has been at one operation. */
    public long longestWait() {
        long longest = 0;
        for (long last : lastProgress) {
            longest = Math.max(longest, engine.now() - last);
        }
        return running == 0 ? 0 : longest;
    }

    /** Counts how often its threads were started. */
    public int runs() {
        return runs;
    }

    /** Whether its threads run, and are not about to end. */
    public boolean isRunning() {
        return running > 0 && !stopping;
    }

    public void be(Activity now) {
        activity = now;
    }

    /** Whether all of its threads rest. */
    public boolean isResting() {
        return running > 0 && resting == running;
    }

    /** Has the threads end after their operations. */
    public void stop() {
        stopping = true;
    }

    /** The host has memory for every page from now on. */
    public void giveMemory() {
        kernel.giveMemory();
    }

    public boolean hasStopped() {
        return running == 0;
    }

    /** Loads and compares every page; by a thread of its process. */
    public void compareAll() {
        for (int cell = 0; cell < cells; cell++) {
            load(cell, life);
        }
    }

    /** Its process ends. */
    public void end() {
        kernel.end();
    }
}
