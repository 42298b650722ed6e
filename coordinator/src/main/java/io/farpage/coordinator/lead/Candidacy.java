package io.farpage.coordinator.lead;

import java.util.Optional;

/** One coordinator among those that share a store. Thread-safe. */
public interface Candidacy extends AutoCloseable {

    /**
     * Waits until this coordinator is elected. Failures of the store are logged and the election is entered again.
     *
     * @throws InterruptedException if interrupted while waiting
     */
    Term campaign() throws InterruptedException;

    /**
     * The coordinator that leads, as it was at most a second ago; empty if none leads or the store does not answer
     * within its deadline. May be called for each request.
     */
    Optional<Leader> leader();

    /** Gives up the candidacy and the connection. */
    @Override
    void close();
}
