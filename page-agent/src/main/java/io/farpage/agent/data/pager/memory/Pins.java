package io.farpage.agent.data.pager.memory;

/**
 * Tracks pins on a guest's memory: references to pages through which a device writes past the page table, such as those
 * of a direct read (O_DIRECT) into guest RAM.
 *
 * <p>Write protection stops pins for writing that come after it, since these fault. It does not stop earlier ones. So a
 * page that the guest could write to is evicted in this order: it is write-protected; an inspection of the VMM that
 * begins after that finds nothing that may hold a pin; only then is the page copied. A page that has been
 * write-protected since it was installed needs no inspection.
 *
 * <p>Any thread. No method blocks or allocates.
 */
public interface Pins {
    /** For memory that is never pinned: every inspection has passed. */
    Pins NONE = new NoPins();

    /**
     * Asks for an inspection that begins after this call.
     *
     * @return its number, for {@link #passed}
     */
    long inspect();

    /** Whether this inspection, or one that began later, found that nothing pins memory for writing. */
    boolean passed(long inspection);

    /** Whether something may pin memory, as of the latest inspection: pages that were writable are not evicted. */
    boolean isHeld();

    /**
     * Whether pins may last and may be for reading, as of the latest inspection: no page is evicted. Implies
     * {@link #isHeld}.
     */
    boolean isLasting();

    /**
     * Whether an inspection may have to wait for a fault: the VMM has an io_uring, which cannot be inspected while a
     * call that accesses guest memory locks it.
     */
    boolean mayStall();

    /** Whether the latest inspection found such a ring locked. */
    boolean isStalled();
}
