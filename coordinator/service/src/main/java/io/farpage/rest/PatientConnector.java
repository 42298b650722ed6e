package io.farpage.rest;

import io.farpage.tls.Tls;
import io.farpage.tls.TlsException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.function.BooleanSupplier;
import org.eclipse.jetty.server.ConnectionFactory;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.server.SslConnectionFactory;
import org.eclipse.jetty.util.ssl.SslContextFactory;

/** Accepts a connection only while the process has descriptors to spare. Until then connections wait in the kernel's queue. */
final class PatientConnector extends ServerConnector {
    private static final long PAUSE_MILLIS = 100;
    private static final long IDLE_WHILE_SHORT_MILLIS = 1_000;

    private final BooleanSupplier mayAccept;

    PatientConnector(Server server, HttpConfiguration http, RestServer.Options options) {
        super(server, factories(http, options.entrance()));
        setHost(options.listen().host());
        setPort(options.listen().port());
        mayAccept = options.mayAccept();
        if (options.entrance().tls().isPresent()) {
            addBean(new HandshakeWatch(options.entrance().control()));
        }
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
