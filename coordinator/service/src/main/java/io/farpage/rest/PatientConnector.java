package io.farpage.rest;

import io.farpage.config.HostPort;
import io.farpage.tls.Tls;
import io.farpage.tls.TlsException;
import java.io.IOException;
import java.security.cert.X509Certificate;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.server.ConnectionFactory;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.server.SslConnectionFactory;
import org.eclipse.jetty.util.ssl.SslContextFactory;

/** Accepts connections over TCP, with TLS or without, while the process has descriptors to spare. */
final class PatientConnector extends ServerConnector {
    /**
     * Connections that the kernel completes before they are accepted, at most net.core.somaxconn, whose default it is.
     * With Java's default of 50 the kernel drops the connections of a thousand agents that come back at once; a client
     * tries again after 1 s, 3 s and 7 s.
     */
    private static final int ACCEPT_QUEUE = 4096;

    private final Patience patience;

    /** @param mayAccept whether the process has descriptors for one more connection */
    PatientConnector(
            Server server, HttpConfiguration http, HostPort listen, Entrance entrance, BooleanSupplier mayAccept) {
        super(server, factories(http, entrance));
        setHost(listen.host());
        setPort(listen.port());
        setAcceptQueueSize(ACCEPT_QUEUE);
        patience = new Patience(this, mayAccept);
        if (entrance.tls().isPresent()) {
            addBean(new HandshakeWatch(entrance.control()));
        }
        entrance.tls().ifPresent(this::endWithItsCa);
    }

    /**
     * A connection that was verified with a CA that is no longer trusted ends. Which CA that was is not kept, so all
     * connections end.
     */
    private void endWithItsCa(Tls tls) {
        AtomicReference<List<X509Certificate>> trusted = new AtomicReference<>(tls.ca());
        tls.onChange(() -> {
            List<X509Certificate> now = tls.ca();
            if (!now.containsAll(trusted.getAndSet(now))) {
                List.copyOf(getConnectedEndPoints()).forEach(EndPoint::close);
            }
        });
    }

    private static ConnectionFactory[] factories(HttpConfiguration http, Entrance entrance) {
        HttpConnectionFactory plain = new HttpConnectionFactory(http);
        return entrance.tls()
                .map(tls -> new ConnectionFactory[] {new SslConnectionFactory(certificates(tls), "http/1.1"), plain})
                .orElseGet(() -> new ConnectionFactory[] {plain});
    }

    /** A changed certificate makes another SSL context, which Jetty uses for new connections; open ones keep theirs. */
    private static SslContextFactory.Server certificates(Tls tls) {
        SslContextFactory.Server factory = new SslContextFactory.Server();
        factory.setSslContext(tls.server());
        factory.setIncludeProtocols("TLSv1.3");
        factory.setWantClientAuth(true);
        tls.onChange(() -> {
            try {
                factory.reload(changed -> changed.setSslContext(tls.server()));
            } catch (Exception e) {
                throw new TlsException("the server's certificates cannot be changed: " + e.getMessage(), e);
            }
        });
        return factory;
    }

    @Override
    public void accept(int acceptor) throws IOException {
        patience.awaitRoom();
        super.accept(acceptor);
    }
}
