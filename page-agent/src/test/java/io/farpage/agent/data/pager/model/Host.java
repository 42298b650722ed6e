package io.farpage.agent.data.pager.model;

import java.util.ArrayList;
import java.util.List;
import java.util.function.IntConsumer;
import java.util.function.IntPredicate;

/** What the processes of a guest share of the kernel: how much memory it has, and what it refuses. */
final class Host {
    private static final int UNLIMITED = Integer.MAX_VALUE;

    final Setup setup;
    /** Address spaces in the order of their creation; the index of one is the descriptor of its userfaultfd. */
    final List<SimulatedKernel> spaces = new ArrayList<>();

    private final Runnable call;
    private IntPredicate mayPoison = page -> false;
    private IntConsumer onProtect = page -> {};
    private IntConsumer onDrop = page -> {};
    private IntConsumer onRead = page -> {};
    private int memoryFor = UNLIMITED;
    private int holeRefusal;

    /** @param call run before each call is carried out */
    Host(Setup setup, Runnable call) {
        this.setup = setup;
        this.call = call;
    }

    /**
     * Sets observers of each page that the agent is about to write-protect, and of each that it is about to read from
     * the file.
     */
    void observe(IntConsumer protects, IntConsumer reads) {
        onProtect = protects;
        onRead = reads;
    }

    void protects(int page) {
        onProtect.accept(page);
    }

    void reads(int page) {
        onRead.accept(page);
    }

    /** Sets the observer of each page that the agent evicts as clean, so that only its home has the page. */
    void observeDrops(IntConsumer drops) {
        onDrop = drops;
    }

    void dropsClean(int page) {
        onDrop.accept(page);
    }

    /** The agent is about to call. */
    void called() {
        call.run();
    }

    /**
     * A call of the agent has been carried out, and the agent has stored nothing since: it may be killed, if another
     * one can adopt what it leaves.
     */
    void returned() {
        if (setup.has(Feature.KEPT)) {
            call.run();
        }
    }

    /** Sets which pages the agent may poison from now on. */
    void mayPoison(IntPredicate pages) {
        mayPoison = pages;
    }

    boolean mayPoison(int page) {
        return mayPoison.test(page);
    }

    /** The next installation gets memory for {@code pages} pages only. */
    void starve(int pages) {
        memoryFor = pages;
    }

    /**
     * Whether the installation under way gets memory for {@code pages} pages, while {@code cached} are in the page
     * cache already.
     */
    boolean hasMemoryFor(int pages, int cached) {
        boolean isScarce = setup.has(Feature.SCARCE_MEMORY) && cached >= Math.max(1, setup.limit() / 2);
        return !isScarce && memoryFor >= pages;
    }

    /** An installation has ended: memory is no longer short. */
    void feed() {
        memoryFor = UNLIMITED;
    }

    /** From now on punching a hole fails with this negative error number; 0 to punch holes. */
    void refuseHoles(int answer) {
        holeRefusal = answer;
    }

    int holeRefusal() {
        return holeRefusal;
    }

    /** The state of the host. */
    String shape() {
        return String.valueOf(memoryFor);
    }
}
