package io.farpage.verbs.soft;

import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells of the connections that a device refuses: the listener of each, the log of at most ten in a second, since a
 * stranger may try again in a loop. Thread-safe.
 */
final class Refusals {
    private static final Logger LOG = LoggerFactory.getLogger(Refusals.class);
    private static final int LOGGED_PER_SECOND = 10;
    private static final long SECOND_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final String device;
    private final RefusedConnection.Listener listener;
    private long second = System.nanoTime();
    private int logged;
    private long omitted;

    /** @param device name of the device, for the log */
    Refusals(String device, RefusedConnection.Listener listener) {
        this.device = device;
        this.listener = listener;
    }

    /** A connection was refused that no peer in order makes. */
    void refused(RefusedConnection connection) {
        log(connection);
        listener.refused(connection);
    }

    /**
     * A connection was refused that a peer in order makes, too, when both ends make a link anew. The log has no line of
     * it.
     */
    void declined(RefusedConnection connection) {
        listener.refused(connection);
    }

    private synchronized void log(RefusedConnection connection) {
        long now = System.nanoTime();
        if (now - second >= SECOND_NANOS) {
            if (omitted > 0) {
                LOG.warn("{}: {} more refusals were not logged", device, omitted);
            }
            second = now;
            logged = 0;
            omitted = 0;
        }
        if (logged == LOGGED_PER_SECOND) {
            omitted++;
            return;
        }
        logged++;
        LOG.warn("{}: refused {}", device, connection);
    }
}
