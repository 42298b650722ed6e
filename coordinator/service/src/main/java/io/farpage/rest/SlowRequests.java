package io.farpage.rest;

import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.io.ssl.SslConnection;
import org.eclipse.jetty.server.Connector;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.component.LifeCycle;
import org.eclipse.jetty.util.thread.Scheduler;

/**
 * Ends connections whose TLS handshake or request header is not complete in time. Jetty's idle timeout begins anew with
 * every byte, so that a client that sends one byte a second would keep its connection for hours. What is done for a
 * request from its header on has bounds of its own. Thread-safe.
 */
final class SlowRequests extends Handler.Wrapper {
    /** From the first byte of a handshake or header on. */
    static final long DEADLINE_MILLIS = TimeUnit.SECONDS.toMillis(10);

    private static final long EVERY_MILLIS = TimeUnit.SECONDS.toMillis(1);
    private static final long NOT_BEGUN = 0;

    private final AccessControl control;
    private final Map<EndPoint, Watched> connections = new ConcurrentHashMap<>();

    /** A connection. Fields are written by the thread of its request, or by the sweep while there is no request. */
    private static final class Watched {
        private volatile boolean busy;
        /** Bytes that had come when the last request ended. */
        private volatile long bytesBefore;
        /** When the sweep first saw more, in the units of {@link System#nanoTime()}. */
        private volatile long begun = NOT_BEGUN;
    }

    SlowRequests(AccessControl control) {
        this.control = control;
    }

    /** Watches a server, before the server gets its other handlers: they go within this one. */
    void watch(Server server) {
        server.setHandler(this);
        server.addEventListener(new LifeCycle.Listener() {
            @Override
            public void lifeCycleStarted(LifeCycle started) {
                schedule(server);
            }
        });
    }

    @Override
    public boolean handle(Request request, Response response, Callback callback) throws Exception {
        EndPoint endPoint = raw(request.getConnectionMetaData().getConnection().getEndPoint());
        Watched connection = connections.computeIfAbsent(endPoint, _ -> new Watched());
        connection.busy = true;
        Request.addCompletionListener(request, _ -> {
            connection.bytesBefore = endPoint.getConnection().getBytesIn();
            connection.begun = NOT_BEGUN;
            connection.busy = false;
        });
        return super.handle(request, response, callback);
    }

    private void schedule(Server server) {
        Scheduler scheduler = server.getScheduler();
        scheduler.schedule(
                () -> {
                    if (server.isRunning()) {
                        sweep(server, System.nanoTime());
                        schedule(server);
                    }
                },
                EVERY_MILLIS,
                TimeUnit.MILLISECONDS);
    }

    private void sweep(Server server, long now) {
        Set<EndPoint> open = ConcurrentHashMap.newKeySet();
        for (Connector connector : server.getConnectors()) {
            for (EndPoint endPoint : connector.getConnectedEndPoints()) {
                open.add(endPoint);
                look(endPoint, now);
            }
        }
        connections.keySet().retainAll(open);
    }

    private void look(EndPoint endPoint, long now) {
        Watched connection = connections.computeIfAbsent(endPoint, _ -> new Watched());
        if (connection.busy
                || endPoint.getConnection() == null
                || endPoint.getConnection().getBytesIn() <= connection.bytesBefore) {
            return;
        }
        if (connection.begun == NOT_BEGUN) {
            connection.begun = now | 1;
        } else if (TimeUnit.NANOSECONDS.toMillis(now - connection.begun) >= DEADLINE_MILLIS) {
            control.unfinished(
                    Connections.address(endPoint),
                    "no complete request came within %d s of its first byte; %d bytes had come"
                            .formatted(
                                    TimeUnit.MILLISECONDS.toSeconds(DEADLINE_MILLIS),
                                    endPoint.getConnection().getBytesIn() - connection.bytesBefore));
            endPoint.close();
        }
    }

    private static EndPoint raw(EndPoint endPoint) {
        return endPoint instanceof SslConnection.SslEndPoint secure
                ? secure.getSslConnection().getEndPoint()
                : endPoint;
    }
}
