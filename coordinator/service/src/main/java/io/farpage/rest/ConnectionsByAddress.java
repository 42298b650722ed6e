package io.farpage.rest;

import io.farpage.limit.AddressConnections;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SocketChannel;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.eclipse.jetty.io.SelectorManager;
import org.eclipse.jetty.util.IO;

/**
 * Closes connections of an address that has too many, before a byte is read and before a TLS handshake begins. Jetty's
 * own limits count the connections of all addresses together, so that one address could keep the others out.
 * Thread-safe.
 */
final class ConnectionsByAddress implements SelectorManager.AcceptListener {

    private final AddressConnections connections;
    private final AccessControl control;
    private final Map<SelectableChannel, String> counted = new ConcurrentHashMap<>();

    ConnectionsByAddress(AddressConnections connections, AccessControl control) {
        this.connections = connections;
        this.control = control;
    }

    @Override
    public void onAccepting(SelectableChannel channel) {
        address(channel).ifPresent(address -> {
            if (connections.opened(address)) {
                counted.put(channel, address);
            } else {
                control.connectionRefused(
                        address,
                        "%s has %d connections open, the most; see limits.address_connections"
                                .formatted(address, connections.most()));
                // Jetty then cannot register it with a selector, and forgets it.
                IO.close(channel);
            }
        });
    }

    @Override
    public void onAcceptFailed(SelectableChannel channel, Throwable cause) {
        forget(channel);
    }

    @Override
    public void onClosed(SelectableChannel channel) {
        forget(channel);
    }

    private void forget(SelectableChannel channel) {
        Optional.ofNullable(counted.remove(channel)).ifPresent(connections::closed);
    }

    /** Where a connection comes from; empty if the client has ended it already. */
    private static Optional<String> address(SelectableChannel channel) {
        try {
            return channel instanceof SocketChannel socket
                            && socket.getRemoteAddress() instanceof InetSocketAddress remote
                    ? Optional.of(remote.getAddress().getHostAddress())
                    : Optional.empty();
        } catch (IOException e) {
            return Optional.empty();
        }
    }
}
