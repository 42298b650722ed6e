package io.farpage.agent.data.pager.model;

import java.util.ArrayList;
import java.util.List;
import java.util.function.IntConsumer;
import java.util.function.IntPredicate;

/** What the processes of a guest share of the kernel: how much memory it has, and what it is able and willing to do. */
final class Host {
    private static final int UNLIMITED = Integer.MAX_VALUE;

    final Setup setup;
    /** Address spaces in the order in which they came; the index of one is the descriptor of its userfaultfd. */
    final List<SimulatedKernel> spaces = new ArrayList<>();

    private final Runnable call;
    private IntPredicate mayPoison = page -> false;
    private IntConsumer onProtect = page -> {};
    private IntConsumer onDrop = page -> {};
    private IntConsumer onRead = page -> {};
    private int memoryFor = UNLIMITED;
    private int holeRefusal;

    /** @param call run before each call is carried out: whatever happens then happens before it */
    Host(Setup setup, Runnable call) {
        this.setup = setup;
        this.call = call;
    }

    /** What to tell of each page that the agent write-protects, and of each that it reads from the file, before it does. */
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

    /** What to tell of each page that the agent takes out although nothing was stored to it, so that only its home has it then. */
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

    /** Which pages the agent may give up for lost from now on. */
    void mayPoison(IntPredicate pages) {
        mayPoison = pages;
    }

    boolean mayPoison(int page) {
        return mayPoison.test(page);
    }

    /** The next installation gets memory for so many pages only. */
    void starve(int pages) {
        memoryFor = pages;
    }

    /** Whether the installation under way gets memory for so many pages, while so many are in the page cache already. */
    boolean hasMemoryFor(int pages, int cached) {
        boolean isScarce = setup.has(Feature.SCARCE_MEMORY) && cached >= Math.max(1, setup.limit() / 2);
        return !isScarce && memoryFor >= pages;
    }

    /** An installation has got what there was. */
    void feed() {
        memoryFor = UNLIMITED;
    }

    /** From now on no hole can be punched, and this negative error number is the answer; 0 to punch them. */
    void refuseHoles(int answer) {
        holeRefusal = answer;
    }

    int holeRefusal() {
        return holeRefusal;
    }

    /** What of it decides how the kernel goes on. */
    String shape() {
        return String.valueOf(memoryFor);
    }
}
