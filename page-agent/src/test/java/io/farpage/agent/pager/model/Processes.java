package io.farpage.agent.pager.model;

import io.farpage.agent.pager.model.GuestThread.State;
import io.farpage.agent.pager.model.Step.Kind;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The VMM with its threads, and the child that it may have: a process with one thread and the same memory. If the VMM ends first, the child is
 * in its place.
 */
final class Processes {
    private final Truth truth;
    private final List<GuestThread> threads = new ArrayList<>();
    private SimulatedKernel vmm;
    private @Nullable SimulatedKernel child;
    private boolean hasForked;

    /** @param count of the VMM's threads */
    Processes(Truth truth, SimulatedKernel vmm, int count) {
        this.truth = truth;
        this.vmm = vmm;
        for (int i = 0; i < count; i++) {
            threads.add(new GuestThread(i, vmm));
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

    /** Whether there was a child, while which lives no limit holds. */
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
        return isIdle(thread) && child == null && threads.get(thread).kernel.equals(vmm);
    }

    /** A thread begins to do something. */
    void begin(GuestThread thread, Kind kind, int page) {
        thread.doing = kind;
        thread.page = page;
        if (thread.isFork()) {
            SimulatedKernel forked = vmm.fork();
            child = forked;
            thread.child = forked;
            hasForked = true;
            thread.state = State.REMOVING;
            thread.kernel.announce(thread);
        } else if (thread.isRemoval()) {
            thread.removal = truth.remove(page, thread.pages());
            thread.state = State.REMOVING;
            thread.kernel.announce(thread);
        } else {
            thread.directReads += kind == Kind.DIRECT ? 1 : 0;
            access(thread);
        }
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
        switch (thread.doing) {
            case READ -> truth.found(page, kernel.content(page));
            case DIRECT -> {
                thread.frame = kernel.frame(page);
                thread.state = State.PINNED;
                return;
            }
            case WRITE -> kernel.store(page, truth.store(page));
            default -> kernel.store(page, truth.storeZeros(page));
        }
        thread.state = State.IDLE;
    }

    /** A thread that was woken goes on. */
    void goOn(GuestThread thread) {
        if (thread.isFork()) {
            thread.kernel.announced();
            thread.state = State.IDLE;
            threads.add(new GuestThread(threads.size(), thread.child()));
        } else if (thread.state == State.PINNED) {
            thread.kernel.storeByDevice(thread.page, thread.frame, truth.store(thread.page));
            thread.state = State.IDLE;
        } else if (!thread.isRemoval()) {
            access(thread);
        } else if (thread.state == State.WOKEN) {
            thread.kernel.announced();
            thread.state = State.ZAPPING;
        } else {
            zap(thread);
            truth.removed(thread.removal());
            thread.state = State.IDLE;
        }
    }

    private static void zap(GuestThread thread) {
        for (int i = 0; i < thread.pages(); i++) {
            thread.kernel.zap(thread.page + i);
        }
    }

    /** The VMM is killed, or the child in its place. A child that is being forked dies with it. */
    void end() {
        SimulatedKernel heir = child;
        for (GuestThread thread : threads) {
            if (thread.kernel.equals(vmm) && thread.isFork() && thread.state != State.IDLE) {
                endChild();
                heir = null;
            }
        }
        kill(vmm);
        if (heir != null) {
            vmm = heir;
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

    /** A call of madvise(2) that waits for the agent is carried out to its end before that. */
    private void kill(SimulatedKernel process) {
        for (GuestThread thread : threads) {
            if (thread.kernel.equals(process)) {
                if (thread.state != State.IDLE && thread.isRemoval()) {
                    zap(thread);
                    truth.abandoned(thread.removal());
                }
                thread.state = State.IDLE;
            }
        }
        process.end();
    }
}
