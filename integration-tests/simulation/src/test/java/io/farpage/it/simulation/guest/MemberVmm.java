package io.farpage.it.simulation.guest;

import io.farpage.it.simulation.engine.Engine;
import io.farpage.it.simulation.engine.Node;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Optional;
import java.util.Random;
import java.util.stream.IntStream;

/** A virtual machine that is a member of a coherent space: its threads load and store words that others use. */
public final class MemberVmm {
    private static final int FIRST_PID = 200_000;
    private static final int NO_PAGE = -1;
    /** One in this number of pages is touched as often as all others. */
    private static final int FEW = 8;

    private static int numbers;

    private final Engine engine = Engine.get();
    private final int number = ++numbers;
    private final SharedPages pages;
    private final String host;
    private final long pace;
    private final GuestKernel kernel;
    private final Node process;
    private final long[] lastProgress;
    /** The pages that threads are about to store to. */
    private final int[] storing;
    /** Pages for which it has got SIGBUS. */
    private final boolean[] lost;
    /** Pages that it has stored to last, as far as it knows. */
    private final boolean[] changed;

    private Optional<Handoffs.Connection> handoff = Optional.empty();
    private int joinedAt;
    private int running;
    private boolean stopping;
    private boolean isCutOff;

    /** @param pace nanoseconds between two operations of a thread, at most */
    public MemberVmm(SharedPages pages, String host, Node process, int threads, long pace) {
        this.pages = pages;
        this.host = host;
        this.process = process;
        this.pace = pace;
        kernel = new GuestKernel(MemoryShape.small(pages.count(), 1));
        lastProgress = new long[threads];
        storing = new int[threads];
        Arrays.fill(storing, NO_PAGE);
        lost = new boolean[pages.count()];
        changed = new boolean[pages.count()];
    }

    /** Hands its memory over. False if no agent listens. */
    public boolean start(Path socket) {
        handoff = Handoffs.send(
                socket, new Handoffs.Message(pages.space(), kernel.layout(), kernel.descriptors(), FIRST_PID + number));
        return handoff.isPresent();
    }

    /** Whether the agent has taken the memory, or has ended. */
    public boolean isHandedOver() {
        return handoff.orElseThrow().isOver();
    }

    /** Whether the VMM must assume that the agent has taken the memory. */
    public boolean isTaken() {
        return handoff.orElseThrow().isTaken();
    }

    /** Starts its threads. */
    public void run() {
        joinedAt = pages.cutOffs();
        pages.join(this);
        for (int i = 0; i < storing.length; i++) {
            int thread = i;
            lastProgress[i] = engine.now();
            running++;
            process.start("vcpu-" + i + " of " + this, () -> {
                work(thread, new Random(engine.random().nextLong()));
                running--;
            });
        }
    }

    private void work(int thread, Random random) {
        while (!stopping && !kernel.hasEnded()) {
            int page = random.nextInt(random.nextBoolean() ? pages.count() : Math.max(1, pages.count() / FEW));
            if (isCutOff) {
                storeInVain(page);
            } else if (!lost[page] && random.nextInt(100) < 45) {
                store(thread, page);
            } else if (!lost[page]) {
                load(page);
            }
            lastProgress[thread] = engine.now();
            engine.pause(engine.between(200, random.nextInt(100) == 0 ? 16 * pace : pace));
        }
    }

    private void storeInVain(int page) {
        if (kernel.touch(page, true)) {
            kernel.store(page, SharedPages.STALE);
        }
    }

    private void store(int thread, int page) {
        storing[thread] = page;
        boolean isThere = kernel.touch(page, true);
        storing[thread] = NO_PAGE;
        if (isCutOff) {
            return;
        }
        if (!isThere) {
            sigbus(page);
            return;
        }
        long value = pages.nextVersion(page);
        kernel.store(page, value);
        changed[page] = true;
        pages.stored(this, page, value);
    }

    private void load(int page) {
        boolean isThere = kernel.touch(page, false);
        if (isCutOff || kernel.hasEnded()) {
            return;
        }
        if (!isThere) {
            sigbus(page);
            return;
        }
        pages.loaded(this, page, kernel.load(page));
    }

    private void sigbus(int page) {
        lost[page] = true;
        pages.lost(this, page);
    }

    /** Loads every page that it has not lost. By a thread of its process. */
    public void compareAll() {
        for (int page = 0; page < pages.count() && !isCutOff; page++) {
            if (!lost[page]) {
                load(page);
            }
        }
    }

    public Node process() {
        return process;
    }

    /** How many members had been cut off before it joined. */
    int joinedAt() {
        return joinedAt;
    }

    /** Whether its threads can load a page without a fault. */
    boolean has(int page) {
        return !kernel.hasEnded() && kernel.has(page);
    }

    /** Whether its homes may know that it has a page for itself. */
    boolean mayOwn(int page) {
        return (kernel.has(page) && (changed[page] || kernel.isWritable(page)))
                || Arrays.stream(storing).anyMatch(one -> one == page);
    }

    /** Another member has found what this one stored, or has stored since: the home has had it. */
    void seen(int page) {
        changed[page] = false;
    }

    /** It is about to be cut off from the homes, or its agent is killed: what its threads do counts no more. */
    public void cutOff() {
        if (!isCutOff) {
            isCutOff = true;
            pages.cutOff(this);
        }
    }

    /** Whether its threads run, and an agent serves them. */
    public boolean isRunning() {
        return !stopping && !isCutOff;
    }

    public boolean isCutOff() {
        return isCutOff;
    }

    /** Whether its threads can load any page without a fault. */
    public boolean hasPages() {
        return IntStream.range(0, pages.count()).anyMatch(this::has);
    }

    /** The longest time that a thread has been at one operation. */
    public long longestWait() {
        long longest = 0;
        for (long last : lastProgress) {
            longest = Math.max(longest, engine.now() - last);
        }
        return running == 0 || isCutOff ? 0 : longest;
    }

    /** Ends its threads after their operations. */
    public void stop() {
        stopping = true;
    }

    public boolean hasStopped() {
        return running == 0;
    }

    /** Its process ends. */
    public void end() {
        kernel.end();
    }

    /** Its pages are at their homes. */
    public void left() {
        pages.leave(this);
    }

    @Override
    public String toString() {
        return "member %d on %s".formatted(number, host);
    }
}
