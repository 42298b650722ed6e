package io.farpage.agent.data.pager.model;

import io.farpage.agent.data.pager.model.Step.Kind;
import java.util.List;
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
        /** Back from MADV_DONTNEED, and about to punch a hole with fallocate(2). */
        PUNCHING,
        /** In a direct read: its page is pinned, and the device is about to write to it. */
        PINNED
    }

    final int number;
    /** What its process has mapped. */
    final SimulatedKernel kernel;

    /** What it may find there. */
    final Truth truth;

    State state = State.IDLE;
    Kind doing = Kind.READ;
    int page;
    boolean writeProtect;
    /** Direct reads that it has begun. */
    int directReads;
    /** The memory that is pinned, as {@link SimulatedMemory#frame} has it. */
    int frame;

    Truth.@Nullable Removal removal;

    /** The process that it forks, of which this is the first thread. */
    private @Nullable GuestThread forked;

    GuestThread(int number, SimulatedKernel kernel, Truth truth) {
        this.number = number;
        this.kernel = kernel;
        this.truth = truth;
    }

    /** Begins to fork. */
    void forks(GuestThread child) {
        forked = child;
    }

    /** The thread of the process that it forks. */
    GuestThread forked() {
        return Objects.requireNonNull(forked);
    }

    /** Memory of the process that it forks. */
    SimulatedKernel child() {
        return forked().kernel;
    }

    /** The first page that it gives up as a whole. */
    int firstRemoved() {
        return doing == Kind.CUT_ACROSS ? page + 1 : page;
    }

    /** How many pages it gives up as a whole. */
    int removedPages() {
        return switch (doing) {
            case REMOVE_TWO -> 2;
            case CUT -> 0;
            default -> 1;
        };
    }

    /** Pages of which it gives up a part. */
    List<Integer> cutPages() {
        return switch (doing) {
            case CUT -> List.of(page);
            case CUT_ACROSS -> List.of(page, page + 2);
            default -> List.of();
        };
    }

    /** Where what it gives up begins in the memory, bytes. */
    long removedFrom(int pageBytes) {
        long start = (long) page * pageBytes;
        return switch (doing) {
            case CUT -> start + pageBytes / 4;
            case CUT_ACROSS -> start + pageBytes / 2;
            default -> start;
        };
    }

    /** Where what it gives up ends in the memory, bytes. */
    long removedUntil(int pageBytes) {
        long start = (long) page * pageBytes;
        return switch (doing) {
            case CUT -> start + pageBytes / 2;
            case CUT_ACROSS -> start + 2L * pageBytes + pageBytes / 2;
            default -> start + (long) removedPages() * pageBytes;
        };
    }

    /** The removal that it is in the middle of. */
    Truth.Removal removal() {
        return Objects.requireNonNull(removal);
    }

    boolean isRemoval() {
        return switch (doing) {
            case REMOVE, REMOVE_TWO, CUT, CUT_ACROSS, DISCARD -> true;
            default -> false;
        };
    }

    /** Whether it calls MADV_DONTNEED, which takes pages out of the page table and leaves them in the file. */
    boolean isDiscard() {
        return doing == Kind.DISCARD;
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
