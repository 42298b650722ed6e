package io.farpage.rest;

import java.io.Closeable;
import java.io.IOException;
import java.nio.channels.SelectableChannel;
import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;
import org.eclipse.jetty.io.SelectorManager;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.unixdomain.server.UnixDomainServerConnector;
import org.eclipse.jetty.util.IO;

/**
 * Accepts connections on a Unix socket, while the process has descriptors to spare and the socket has fewer connections
 * than it may. Jetty's {@link org.eclipse.jetty.server.NetworkConnectionLimit} does not work for Unix sockets: it
 * suspends the acceptor, and a Unix connector of Jetty 12.1 that is resumed closes its socket.
 */
final class SocketConnector extends UnixDomainServerConnector {

    private final Patience patience;
    /** Connections at once. */
    private final int most;

    private final AccessControl control;
    private final Set<SelectableChannel> open = ConcurrentHashMap.newKeySet();
    /** Whether the limit is reached and was reported. Used by the acceptor. */
    private boolean full;

    /** @param mayAccept whether the process has descriptors for one more connection */
    SocketConnector(
            Server server, HttpConfiguration http, Path path, AccessControl control, BooleanSupplier mayAccept) {
        super(server, 1, -1, new HttpConnectionFactory(http));
        setUnixDomainPath(path);
        this.most = Connections.mostOfSocket();
        this.control = control;
        addEventListener(new Count());
        patience = new Patience(this, () -> hasRoom() && mayAccept.getAsBoolean());
    }

    @Override
    protected void accept(int acceptor) throws IOException {
        patience.awaitRoom();
        super.accept(acceptor);
    }

    private boolean hasRoom() {
        boolean isFull = open.size() >= most;
        if (isFull && !full) {
            control.connectorFull(
                    "unix socket",
                    "%d connections are open, the most; further ones wait until one ends, and idle ones end after %d ms"
                            .formatted(most, Patience.IDLE_WHILE_SHORT_MILLIS));
        }
        full = isFull;
        return !isFull;
    }

    /** Jetty knows a connection's end point a moment after it was accepted; the limit needs all of them. */
    private final class Count implements SelectorManager.AcceptListener {
        @Override
        public void onAccepting(SelectableChannel channel) {
            open.add(channel);
        }

        @Override
        public void onAcceptFailed(SelectableChannel channel, Throwable cause) {
            open.remove(channel);
        }

        @Override
        public void onClosed(SelectableChannel channel) {
            open.remove(channel);
        }
    }

    /** Accepts no more connections; those that are open go on. */
    void stopListening() {
        interruptAcceptors();
        IO.close((Closeable) getTransport());
    }
}
