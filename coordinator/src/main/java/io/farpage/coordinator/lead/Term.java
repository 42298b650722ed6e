package io.farpage.coordinator.lead;

import io.farpage.coordinator.store.Store;
import java.time.Duration;

/**
 * The time for which a coordinator leads. Its end is final. While {@link #holds} says true no other coordinator has
 * been elected: the term ends, with a margin, before the store lets another be elected. It goes by a clock of this host
 * that includes the time in suspend. Thread-safe.
 */
public interface Term extends AutoCloseable {

    /** The shared store; commits throw when another coordinator has been elected. */
    Store store();

    /** Grows from each leader to the next. */
    long number();

    /** Whether this coordinator certainly leads at this moment. */
    boolean holds();

    /**
     * Waits until the term has ended; says whether it has.
     *
     * @param longest for how long to wait
     * @throws InterruptedException if interrupted while waiting
     */
    boolean awaitEnd(Duration longest) throws InterruptedException;

    /** Ends the term, and lets another coordinator be elected at once. */
    @Override
    void close();
}
