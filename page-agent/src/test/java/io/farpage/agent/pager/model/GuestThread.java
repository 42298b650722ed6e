package io.farpage.agent.pager.model;

import io.farpage.agent.pager.model.Step.Kind;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** A thread of the guest, and what it is in the middle of. */
final class GuestThread {
    /** Where a thread is. */
    enum State {
        IDLE,
        /** In a fault that nobody has answered. */
        FAULTING,
        /** Woken from a fault, or from waiting for the agent to learn of a removal. */
        WOKEN,
        /** In madvise(2) or fork(2), until the agent has read of it. */
        REMOVING,
        /** Back from that, and about to take the pages out. */
        ZAPPING,
        /** In a direct read: its page is pinned, and the device is about to write to it. */
        PINNED
    }

    final int number;
    /** What its process has mapped. */
    final SimulatedKernel kernel;

    State state = State.IDLE;
    Kind doing = Kind.READ;
    int page;
    boolean writeProtect;
    /** Direct reads that it has begun. */
    int directReads;
    /** The memory that is pinned, as {@link SimulatedKernel#frame} has it. */
    int frame;

    Truth.@Nullable Removal removal;

    @Nullable
    SimulatedKernel child;

    GuestThread(int number, SimulatedKernel kernel) {
        this.number = number;
        this.kernel = kernel;
    }

    /** The process that it forks. */
    SimulatedKernel child() {
        return Objects.requireNonNull(child);
    }

    /** How many pages it gives up. */
    int pages() {
        return doing == Kind.REMOVE_TWO ? 2 : 1;
    }

    /** The removal that it is in the middle of. */
    Truth.Removal removal() {
        return Objects.requireNonNull(removal);
    }

    boolean isRemoval() {
        return doing == Kind.REMOVE || doing == Kind.REMOVE_TWO;
    }

    boolean isFork() {
        return doing == Kind.FORK;
    }

    boolean isStore() {
        return doing == Kind.WRITE || doing == Kind.ZERO || doing == Kind.DIRECT;
    }

    /** Whether it is in the middle of a direct read, so that it has a descriptor for that open. */
    boolean isPinning() {
        return doing == Kind.DIRECT && state != State.IDLE;
    }

    @Override
    public String toString() {
        return "thread " + number + " " + state + " " + doing + " page " + page + (writeProtect ? " (wp)" : "");
    }
}
