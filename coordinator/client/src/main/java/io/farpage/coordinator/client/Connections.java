package io.farpage.coordinator.client;

import io.farpage.tls.Credentials;
import io.farpage.tls.NoTls;
import io.farpage.tls.Peer;
import java.net.http.HttpClient;
import java.time.Duration;
import java.util.Optional;
import javax.net.ssl.SSLContext;

/**
 * The connections to coordinators, made with the certificates that hold now. Closing ends the requests under way.
 * Thread-safe.
 */
final class Connections implements AutoCloseable {

    private final Duration deadline;
    private final Credentials credentials;
    private final boolean arePlain;
    private final boolean areOwn;
    private volatile Generation latest;
    private volatile boolean closed;

    /**
     * Connections that were made with the same certificates.
     *
     * @param context that they were made with; empty for plain HTTP
     * @param earlier those before: they end once they are idle, and with this client at the latest
     */
    private record Generation(HttpClient http, Optional<SSLContext> context, Optional<HttpClient> earlier) {}

    /**
     * Connections of this client alone.
     *
     * @param deadline of connecting
     * @param arePlain whether all will be plain HTTP
     */
    Connections(Credentials credentials, Duration deadline, boolean arePlain) {
        this.deadline = deadline;
        this.credentials = credentials;
        this.arePlain = arePlain;
        this.areOwn = true;
        this.latest = connect(credentials.context(Peer.COORDINATOR), Optional.empty());
    }

    /** Connections of others over plain HTTP, which stay open when this is closed. */
    Connections(HttpClient shared) {
        this.deadline = Duration.ZERO;
        this.credentials = Credentials.NONE;
        this.arePlain = true;
        this.areOwn = false;
        this.latest = new Generation(shared, Optional.empty(), Optional.empty());
    }

    /** The client's own pool would keep as many threads as calls were ever under way at once, each for a minute. */
    private Generation connect(Optional<SSLContext> context, Optional<HttpClient> earlier) {
        HttpClient.Builder builder = HttpClient.newBuilder()
                .version(HttpClient.Version.HTTP_1_1)
                .connectTimeout(deadline)
                .executor(task -> Thread.ofVirtual().name("coordinator-client").start(task))
                .followRedirects(HttpClient.Redirect.NEVER);
        if (arePlain) {
            builder.sslContext(NoTls.context());
        } else {
            context.ifPresent(builder::sslContext);
        }
        return new Generation(builder.build(), context, earlier);
    }

    /** Changed certificates take new connections; requests that are under way end on theirs. */
    HttpClient http() {
        Generation now = latest;
        return credentials.context(Peer.COORDINATOR).equals(now.context()) ? now.http() : reconnect();
    }

    private synchronized HttpClient reconnect() {
        Generation now = latest;
        Optional<SSLContext> context = credentials.context(Peer.COORDINATOR);
        if (!context.equals(now.context())) {
            latest = connect(context, Optional.of(now.http()));
            if (closed) {
                close();
            }
        }
        return latest.http();
    }

    boolean isClosed() {
        return closed;
    }

    @Override
    public void close() {
        closed = true;
        if (!areOwn) {
            return;
        }
        Generation now = latest;
        now.http().shutdownNow();
        now.earlier().ifPresent(HttpClient::shutdownNow);
    }
}
