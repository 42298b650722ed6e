package io.farpage.agent.data.pager;

import io.farpage.agent.data.shard.FetchStatus;

/** The address space of a process that the VMM forked, and that has a userfaultfd of its own. */
sealed interface Child extends AutoCloseable permits PrivateChild, SharedChild {
    /** Readable while there is something to read; -1 while that cannot be read. */
    int fd();

    /** Its userfaultfd. */
    int descriptor();

    /** Reads what the kernel tells, and does what there is to do. Returns how much. */
    int doWork();

    /** Whether something waits that no message and no completion brings on. */
    boolean isBusy();

    /** Whether it has read of removals from the memory that it shares with its parent, and not carried them out in the table yet. */
    default boolean holdsUpParent() {
        return false;
    }

    /** Looks whether the address space is still there. */
    void probe();

    /** Whether the address space is gone, and nothing is under way for it any more. */
    boolean hasEnded();

    /** Whether a transfer is this child's. */
    default boolean owns(int slot) {
        return false;
    }

    /** Takes the end of a transfer of its own. */
    default void completed(int slot, FetchStatus status) {
        throw new IllegalStateException("no transfer of this child's: slot " + slot);
    }

    @Override
    void close();
}
