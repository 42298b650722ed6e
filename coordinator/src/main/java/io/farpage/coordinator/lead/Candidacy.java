package io.farpage.coordinator.lead;

import java.net.URI;
import java.util.Optional;

/** One coordinator among those that share a store. Thread-safe. */
public interface Candidacy extends AutoCloseable {

    /**
     * Waits until this coordinator is elected. Failures of the store are logged and the election is entered again.
     *
     * @throws InterruptedException if interrupted while waiting
     */
    Term campaign() throws InterruptedException;

    /** Where the coordinator that leads is reached; empty if none leads or the store does not answer within its deadline. */
    Optional<URI> leader();

    /** Gives up the candidacy and the connection. */
    @Override
    void close();
}
