package io.farpage.rest;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.function.BooleanSupplier;
import org.eclipse.jetty.server.AbstractConnector;

/**
 * What a connector waits for before it accepts a connection: descriptors to spare. Until then connections wait in the
 * kernel's queue.
 */
final class Patience {
    private static final long PAUSE_MILLIS = 100;
    static final long IDLE_WHILE_SHORT_MILLIS = 1_000;

    private final AbstractConnector connector;
    private final BooleanSupplier mayAccept;

    /**
     * Makes it.
     *
     * @param mayAccept whether the process has descriptors for one more connection
     */
    Patience(AbstractConnector connector, BooleanSupplier mayAccept) {
        this.connector = connector;
        this.mayAccept = mayAccept;
    }

    /** Waits until there is room, or the connector stops. Meanwhile idle connections end after a second. */
    void awaitRoom() throws IOException {
        boolean shortened = false;
        while (connector.isRunning() && !mayAccept.getAsBoolean()) {
            if (!shortened) {
                shortened = true;
                connector
                        .getConnectedEndPoints()
                        .forEach(connection -> connection.setIdleTimeout(IDLE_WHILE_SHORT_MILLIS));
            }
            try {
                Thread.sleep(PAUSE_MILLIS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new InterruptedIOException("interrupted while no descriptor was free");
            }
        }
    }
}
