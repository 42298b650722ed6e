package io.farpage.agent.data.pager.model;

import io.farpage.agent.data.pager.model.GuestThread.State;
import io.farpage.agent.data.pager.model.Step.Kind;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The VMM with its threads, and the child that it may have: a process with one thread and the same memory, or a copy of
 * it. If the VMM ends first, a child with the same memory replaces it.
 */
final class Processes {
    private final Truth truth;
    private final boolean isPrivate;
    private final List<GuestThread> threads = new ArrayList<>();
    private SimulatedKernel vmm;
    private @Nullable SimulatedKernel child;
    private Truth childTruth;
    private boolean hasForked;

    /** @param truth what the VMM may find in its memory */
    Processes(Truth truth, SimulatedKernel vmm, Setup setup) {
        this.truth = truth;
        this.vmm = vmm;
        childTruth = truth;
        isPrivate = setup.has(Feature.PRIVATE);
        for (int i = 0; i < setup.threads(); i++) {
            threads.add(new GuestThread(i, vmm, truth));
        }
    }

    /** What the VMM may find in its memory. */
    Truth truth() {
        return truth;
    }

    /**
     * Gives each memory, and what may be read from it, to an action: the file's, or the private ones of processes that
     * live.
     */
    void eachMemory(BiConsumer<SimulatedKernel, Truth> action) {
        if (!isPrivate || vmm.isAlive()) {
            action.accept(vmm, truth);
        }
        if (isPrivate && child != null) {
            action.accept(child, childTruth);
        }
    }

    /** The address space of the VMM, or of the child in its place. */
    SimulatedKernel kernel() {
        return vmm;
    }

    /** All threads that there were, by number. */
    List<GuestThread> threads() {
        return threads;
    }

    /** Whether there was a child. While one lives, the limit is not enforced. */
    boolean hasForked() {
        return hasForked;
    }

    boolean hasChild() {
        return child != null;
    }

    boolean isIdle(int thread) {
        return thread < threads.size()
                && threads.get(thread).kernel.isAlive()
                && threads.get(thread).state == State.IDLE;
    }

    boolean canFork(int thread) {
        // A VMM that is killed between MADV_DONTNEED and fallocate(2) would leave its child a page that the agent has
        // forgotten.
        return isIdle(thread)
                && child == null
                && threads.get(thread).kernel.equals(vmm)
                && threads.stream().noneMatch(each -> each.isDiscard() && each.state != State.IDLE);
    }

    /** A thread begins an operation. */
    void begin(GuestThread thread, Kind kind, int page) {
        thread.doing = kind;
        thread.page = page;
        if (thread.isFork()) {
            SimulatedKernel forked = vmm.fork();
            child = forked;
            childTruth = isPrivate ? truth.fork() : truth;
            thread.forks(new GuestThread(threads.size(), forked, childTruth));
            hasForked = true;
            thread.state = State.REMOVING;
            thread.kernel.announce(thread);
        } else if (thread.isRemoval()) {
            thread.removal =
                    thread.truth.remove(thread.firstRemoved(), thread.removedPages(), thread.partlyRemovedPages());
            thread.state = State.REMOVING;
            thread.kernel.announce(thread);
        } else {
            thread.directReads += kind == Kind.DIRECT ? 1 : 0;
            access(thread);
        }
    }

    /** Whether a thread is about to give up a part of a page, and the agent has read the event. */
    boolean isRemovingPart() {
        return threads.stream()
                .anyMatch(thread -> thread.state == State.ZAPPING
                        && !thread.partlyRemovedPages().isEmpty());
    }

    /** Whether a direct read into a page is under way. A guest that gives up such a page would lose what is read. */
    boolean isTarget(int page) {
        return threads.stream().anyMatch(thread -> thread.isPinning() && thread.page == page);
    }

    private void access(GuestThread thread) {
        SimulatedKernel kernel = thread.kernel;
        if (!kernel.touch(thread)) {
            return;
        }
        int page = thread.page;
        Truth found = thread.truth;
        SimulatedMemory memory = kernel.memory();
        switch (thread.doing) {
            case READ -> found.found(page, memory.content(page));
            case DIRECT -> {
                thread.frame = memory.frame(page);
                thread.state = State.PINNED;
                return;
            }
            case WRITE -> memory.store(page, found.store(page));
            default -> memory.store(page, found.storeZeros(page));
        }
        thread.state = State.IDLE;
    }

    /** A thread that was woken continues. */
    void goOn(GuestThread thread) {
        if (thread.isFork()) {
            thread.kernel.announced();
            thread.state = State.IDLE;
            threads.add(thread.forked());
        } else if (thread.state == State.PINNED) {
            thread.kernel.memory().storeByDevice(thread.page, thread.frame, thread.truth.store(thread.page));
            thread.state = State.IDLE;
        } else if (!thread.isRemoval()) {
            access(thread);
        } else if (thread.state == State.WOKEN) {
            thread.kernel.announced();
            thread.state = State.ZAPPING;
        } else if (thread.isDiscard() && thread.state == State.ZAPPING) {
            thread.kernel.reclaim(thread.page);
            thread.state = State.PUNCHING;
        } else {
            zap(thread);
            thread.partlyRemovedPages().forEach(page -> returnedFromPartialRemoval(page, thread));
            thread.truth.removed(thread.removal());
            thread.state = State.IDLE;
        }
    }

    private static void zap(GuestThread thread) {
        for (int i = 0; i < thread.removedPages(); i++) {
            thread.kernel.memory().zap(thread.firstRemoved() + i);
        }
        for (int page : thread.partlyRemovedPages()) {
            thread.kernel.memory().zeroPart(page);
        }
    }

    /**
     * The call returns to the caller. Once the part of a resident page is zeros, its earlier bytes must not come back.
     */
    private static void returnedFromPartialRemoval(int page, GuestThread thread) {
        SimulatedMemory memory = thread.kernel.memory();
        if (memory.isCached(page)) {
            thread.truth.found(page, memory.content(page));
        }
    }

    /**
     * The VMM is killed, or the child in its place. A child that is being forked dies with it; another one lives on,
     * and replaces the VMM if the memory is the same.
     */
    void end() {
        SimulatedKernel sharer = isPrivate ? null : child;
        for (GuestThread thread : threads) {
            if (thread.kernel.equals(vmm) && thread.isFork() && thread.state != State.IDLE) {
                endChild();
                sharer = null;
            }
        }
        kill(vmm);
        if (sharer != null) {
            vmm = sharer;
            child = null;
        }
    }

    /** The child is killed. */
    void endChild() {
        if (child != null) {
            kill(child);
            child = null;
        }
    }

    /**
     * A VMM that is killed before it punches a hole leaves the page in the file until the file is closed; the model
     * punches it at once.
     *
     * <p>A call of madvise(2) that waits for the agent is carried out to its end before that, and the agent reads no
     * event of it. So a page that is given up in part may be evicted as it was before. That is allowed, as it is for a
     * page that is given up as a whole: the call has not returned, and no thread of the process lives on that could
     * have relied on the zeros. A child with the same memory may read the zeros in the page that is still resident;
     * from then on it must read nothing else.
     */
    private void kill(SimulatedKernel process) {
        for (GuestThread thread : threads) {
            if (thread.kernel.equals(process)) {
                if (thread.state != State.IDLE && thread.isRemoval()) {
                    zap(thread);
                    thread.truth.abandoned(thread.removal());
                }
                thread.state = State.IDLE;
            }
        }
        process.end();
    }
}
