package io.farpage.rest;

import com.sun.management.UnixOperatingSystemMXBean;
import io.javalin.http.Context;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.net.InetSocketAddress;
import java.net.UnixDomainSocketAddress;
import java.security.cert.X509Certificate;
import java.util.Optional;
import jdk.net.ExtendedSocketOptions;
import jdk.net.UnixDomainPrincipal;
import org.eclipse.jetty.ee10.servlet.ServletContextRequest;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.io.SocketChannelEndPoint;
import org.eclipse.jetty.server.Connector;
import org.eclipse.jetty.server.NetworkConnectionLimit;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

/**
 * How many connections a service has open at once: a quarter of the process's file descriptors, so that the rest of the
 * process keeps some, and no more than its heap has room for. At the limit it accepts no more, and idle connections end
 * after a second. One address has at most half of the connections over TCP.
 */
final class Connections {
    private static final int FEWEST = 16;
    /** A Unix socket takes this part of the connections that are possible over TCP. */
    private static final int SOCKET_SHARE = 8;

    private static final long HEAP_BYTES_EACH = 128 << 10;
    private static final long IDLE_AT_LIMIT_MILLIS = 1_000;

    private Connections() {}

    /** Limits a connector for TCP. */
    static ServerConnector limited(Server server, ServerConnector connector, AccessControl control) {
        int most = most();
        NetworkConnectionLimit limit = new Limit(most, connector, control);
        limit.setEndPointIdleTimeout(IDLE_AT_LIMIT_MILLIS);
        server.addBean(limit);
        control.limits()
                .map(rates -> new ConnectionsByAddress(rates.connections(most), control))
                .ifPresent(connector::addEventListener);
        return connector;
    }

    /** The connections of a Unix socket: strangers that hold all connections over TCP leave it to its users. */
    static int mostOfSocket() {
        return Math.max(FEWEST, most() / SOCKET_SHARE);
    }

    /** Tells when the limit is reached: from then on connections wait in the kernel's queue. */
    private static final class Limit extends NetworkConnectionLimit {
        private final int most;
        private final AccessControl control;

        Limit(int most, Connector connector, AccessControl control) {
            super(most, connector);
            this.most = most;
            this.control = control;
        }

        @Override
        protected void limit() {
            super.limit();
            control.connectorFull(
                    "all addresses",
                    "%d connections are open, the most; further ones wait until one ends, and idle ones end after %d ms"
                            .formatted(most, IDLE_AT_LIMIT_MILLIS));
        }
    }

    /** The process that makes a request over a Unix socket; empty for a request over TCP. */
    static Optional<SocketPeer> peer(Context ctx) {
        return peer(endPoint(ctx));
    }

    /** From where a connection comes: an address, or the user of a Unix socket, if the connection is still open. */
    static String address(EndPoint endPoint) {
        if (endPoint.getRemoteSocketAddress() instanceof InetSocketAddress inet) {
            return inet.getAddress().getHostAddress();
        }
        try {
            return peer(endPoint).map(SocketPeer::toString).orElse("unix socket");
        } catch (UncheckedIOException e) {
            return "unix socket";
        }
    }

    private static Optional<SocketPeer> peer(EndPoint endPoint) {
        if (!(endPoint instanceof SocketChannelEndPoint socket)
                || !(endPoint.getLocalSocketAddress() instanceof UnixDomainSocketAddress)) {
            return Optional.empty();
        }
        try {
            UnixDomainPrincipal principal = socket.getChannel().getOption(ExtendedSocketOptions.SO_PEERCRED);
            return Optional.of(new SocketPeer(principal.user(), principal.group()));
        } catch (IOException e) {
            throw new UncheckedIOException("getsockopt(SO_PEERCRED) on a connection to the Unix socket", e);
        }
    }

    /** The verified certificate that the client of a request has shown, if it has shown one. */
    static Optional<X509Certificate> certificate(Context ctx) {
        EndPoint.SslSessionData session = endPoint(ctx).getSslSessionData();
        if (session == null || session.peerCertificates() == null || session.peerCertificates().length == 0) {
            return Optional.empty();
        }
        return Optional.of(session.peerCertificates()[0]);
    }

    private static EndPoint endPoint(Context ctx) {
        return ServletContextRequest.getServletContextRequest(ctx.req())
                .getConnectionMetaData()
                .getConnection()
                .getEndPoint();
    }

    private static int most() {
        long byHeap = Runtime.getRuntime().maxMemory() / HEAP_BYTES_EACH;
        return (int) Math.max(FEWEST, Math.min(byHeap, descriptors() / 4));
    }

    /** The soft RLIMIT_NOFILE, which the JVM raises to the hard one at its start. */
    private static long descriptors() {
        return ManagementFactory.getOperatingSystemMXBean() instanceof UnixOperatingSystemMXBean system
                ? system.getMaxFileDescriptorCount()
                : Integer.MAX_VALUE;
    }
}
