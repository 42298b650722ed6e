package io.farpage.agent.data.pager.model;

import io.farpage.agent.data.pager.model.Step.Kind;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** A thread of the guest, and its operation. */
final class GuestThread {
    /** Where a thread is. */
    enum State {
        IDLE,
        /** In a fault that the agent has not answered. */
        FAULTING,
        /** Woken from a fault, or from waiting for the agent to learn of a removal. */
        WOKEN,
        /** In madvise(2) or fork(2), until the agent has read the event. */
        REMOVING,
        /** The event was read, and the call is about to remove the pages. */
        ZAPPING,
        /** Back from MADV_DONTNEED, and about to punch a hole with fallocate(2). */
        PUNCHING,
        /** In a direct read: its page is pinned, and the device is about to write to it. */
        PINNED
    }

    final int number;
    /** The address space of its process. */
    final SimulatedKernel kernel;

    /** What it may read. */
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

    /** The first thread of the process that it forks. */
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
        return doing == Kind.REMOVE_ACROSS ? page + 1 : page;
    }

    /** How many pages it gives up as a whole. */
    int removedPages() {
        return switch (doing) {
            case REMOVE_TWO -> 2;
            case REMOVE_PART -> 0;
            default -> 1;
        };
    }

    /** Pages that it gives up in part. */
    List<Integer> partlyRemovedPages() {
        return switch (doing) {
            case REMOVE_PART -> List.of(page);
            case REMOVE_ACROSS -> List.of(page, page + 2);
            default -> List.of();
        };
    }

    /** Where what it gives up begins in the memory, bytes. */
    long removedFrom(int pageBytes) {
        long start = (long) page * pageBytes;
        return switch (doing) {
            case REMOVE_PART -> start + pageBytes / 4;
            case REMOVE_ACROSS -> start + pageBytes / 2;
            default -> start;
        };
    }

    /** Where what it gives up ends in the memory, bytes. */
    long removedUntil(int pageBytes) {
        long start = (long) page * pageBytes;
        return switch (doing) {
            case REMOVE_PART -> start + pageBytes / 2;
            case REMOVE_ACROSS -> start + 2L * pageBytes + pageBytes / 2;
            default -> start + (long) removedPages() * pageBytes;
        };
    }

    /** The removal that it is in the middle of. */
    Truth.Removal removal() {
        return Objects.requireNonNull(removal);
    }

    boolean isRemoval() {
        return switch (doing) {
            case REMOVE, REMOVE_TWO, REMOVE_PART, REMOVE_ACROSS, DISCARD -> true;
            default -> false;
        };
    }

    /** Whether it calls MADV_DONTNEED, which unmaps pages and leaves them in the file. */
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
