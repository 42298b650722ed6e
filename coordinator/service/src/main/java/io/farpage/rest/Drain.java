package io.farpage.rest;

import io.javalin.http.Context;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.io.IdleTimeout;
import org.eclipse.jetty.server.Connector;
import org.eclipse.jetty.server.ServerConnector;

/**
 * The end of a service as its clients like it: no new connections, and each that is open hears
 * {@code Connection: close} with its next answer. A connection that is cut without it may lose a request that is on its
 * way (RFC 9112, section 9.6).
 */
final class Drain {
    private static final Duration AT_MOST = Duration.ofSeconds(2);
    private static final Duration PAUSE = Duration.ofMillis(5);
    /** A connection without traffic for so long has no request on its way. */
    static final long QUIET_MILLIS = 200;

    private volatile boolean announced;

    /** Before each request is handled. */
    void announce(Context ctx) {
        if (announced) {
            ctx.header("Connection", "close");
        }
    }

    /** Stops listening, then waits until the connections have ended or nothing moves on them, two seconds at most. */
    void run(List<Connector> connectors) {
        connectors.forEach(Drain::stopListening);
        announced = true;
        long deadline = System.nanoTime() + AT_MOST.toNanos();
        while (connectors.stream()
                        .anyMatch(one -> one.getConnectedEndPoints().stream().anyMatch(Drain::moves))
                && System.nanoTime() - deadline < 0) {
            LockSupport.parkNanos(PAUSE.toNanos());
        }
    }

    /** From the end of the drain on, Jetty ends each connection that is quiet and has no request under way. */
    private static void stopListening(Connector connector) {
        switch (connector) {
            case ServerConnector tcp -> {
                tcp.setShutdownIdleTimeout(QUIET_MILLIS);
                tcp.close();
            }
            case SocketConnector unix -> {
                unix.setShutdownIdleTimeout(QUIET_MILLIS);
                unix.stopListening();
            }
            default -> throw new AssertionError(connector);
        }
    }

    private static boolean moves(EndPoint connection) {
        return !(connection instanceof IdleTimeout timed) || timed.getIdleFor() < QUIET_MILLIS;
    }
}
