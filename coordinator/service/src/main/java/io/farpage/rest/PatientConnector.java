package io.farpage.rest;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.function.BooleanSupplier;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

/** Accepts a connection only while the process has descriptors to spare. Until then connections wait in the kernel's queue. */
final class PatientConnector extends ServerConnector {
    private static final long PAUSE_MILLIS = 100;
    private static final long IDLE_WHILE_SHORT_MILLIS = 1_000;

    private final BooleanSupplier mayAccept;

    PatientConnector(Server server, HttpConfiguration http, RestServer.Options options) {
        super(server, new HttpConnectionFactory(http));
        setHost(options.listen().host());
        setPort(options.listen().port());
        mayAccept = options.mayAccept();
    }

    @Override
    public void accept(int acceptor) throws IOException {
        awaitRoom();
        super.accept(acceptor);
    }

    private void awaitRoom() throws IOException {
        boolean shortened = false;
        while (isRunning() && !mayAccept.getAsBoolean()) {
            if (!shortened) {
                shortened = true;
                getConnectedEndPoints().forEach(connection -> connection.setIdleTimeout(IDLE_WHILE_SHORT_MILLIS));
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
