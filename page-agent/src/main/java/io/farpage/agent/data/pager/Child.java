package io.farpage.agent.data.pager;

/** The address space of a process that the VMM forked, and that has a userfaultfd of its own. */
sealed interface Child extends AutoCloseable permits PrivateChild, SharedChild {
    /** A descriptor that is readable while messages wait; -1 while they cannot be read. */
    int fd();

    /** Its userfaultfd. */
    int descriptor();

    /** Runs a duty cycle: reads kernel messages and serves faults. Returns the amount of work. */
    int doWork();

    /** Whether work waits that neither a message nor a completion will start. */
    boolean isBusy();

    /** Whether removals from the memory that it shares with its parent have been read and are not in the page table yet. */
    default boolean holdsUpParent() {
        return false;
    }

    /** Probes whether the address space still exists. */
    void probe();

    /** Whether the address space is gone, and nothing is under way for it any more. */
    boolean hasEnded();

    @Override
    void close();
}
