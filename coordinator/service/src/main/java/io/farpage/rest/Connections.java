package io.farpage.rest;

import com.sun.management.UnixOperatingSystemMXBean;
import io.javalin.http.Context;
import java.lang.management.ManagementFactory;
import java.security.cert.X509Certificate;
import java.util.Optional;
import org.eclipse.jetty.ee10.servlet.ServletContextRequest;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.server.NetworkConnectionLimit;
import org.eclipse.jetty.server.Server;

/**
 * How many connections a service has open at once: a quarter of the process's file descriptors, so that the rest of the process keeps some,
 * and no more than its heap has room for. At the limit it accepts no more, and idle connections end after a second.
 */
final class Connections {
    private static final int FEWEST = 16;
    private static final long HEAP_BYTES_EACH = 128 << 10;
    private static final long IDLE_AT_LIMIT_MILLIS = 1_000;

    private Connections() {}

    static void limit(Server server) {
        NetworkConnectionLimit limit = new NetworkConnectionLimit(most(), server);
        limit.setEndPointIdleTimeout(IDLE_AT_LIMIT_MILLIS);
        server.addBean(limit);
    }

    /** The verified certificate that the client of a request has shown, if it has shown one. */
    static Optional<X509Certificate> certificate(Context ctx) {
        EndPoint.SslSessionData session = ServletContextRequest.getServletContextRequest(ctx.req())
                .getConnectionMetaData()
                .getConnection()
                .getEndPoint()
                .getSslSessionData();
        if (session == null || session.peerCertificates() == null || session.peerCertificates().length == 0) {
            return Optional.empty();
        }
        return Optional.of(session.peerCertificates()[0]);
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
