package io.farpage.it.harness;

import io.farpage.it.deadlines.Deadlines;
import io.farpage.tls.Tls;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import javax.net.ssl.SSLContext;

/** A REST interface of a child. Any thread. */
public final class Rest {
    private static final Duration TIMEOUT = Duration.ofSeconds(20);
    private static final HttpClient CLIENT =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    private final URI base;
    private final HttpClient client;
    private final Map<String, String> headers;

    public Rest(int port) {
        this(URI.create("http://127.0.0.1:" + port), CLIENT, Map.of());
    }

    /** A REST interface elsewhere than on the loopback. */
    public Rest(URI base) {
        this(base, CLIENT, Map.of());
    }

    private Rest(URI base, HttpClient client, Map<String, String> headers) {
        this.base = base;
        this.client = client;
        this.headers = Map.copyOf(headers);
    }

    /** A REST interface over TLS, if there are certificates. */
    static Rest of(int port, Optional<Tls> tls) {
        Rest plain = new Rest(port);
        return tls.map(plain::with).orElse(plain);
    }

    /** The same over TLS, with what a program shows and trusts. */
    public Rest with(Tls tls) {
        return with(tls.server());
    }

    /** The same over TLS, with a context of its own. */
    public Rest with(SSLContext context) {
        HttpClient secure = HttpClient.newBuilder()
                .version(HttpClient.Version.HTTP_1_1)
                .sslContext(context)
                .build();
        return new Rest(URI.create("https://" + base.getAuthority()), secure, headers);
    }

    /** The same with one more header in each request. */
    public Rest with(String header, String value) {
        Map<String, String> more = new HashMap<>(headers);
        more.put(header, value);
        return new Rest(base, client, more);
    }

    public URI base() {
        return base;
    }

    public Answer get(String path) {
        return send("GET", path, "", new byte[0]);
    }

    public Answer sendJson(String method, String path, String body) {
        return send(method, path, "application/json", body.getBytes(java.nio.charset.StandardCharsets.UTF_8));
    }

    /**
     * Sends a request.
     *
     * @param contentType empty for none
     * @throws UncheckedIOException if there is no answer
     */
    public Answer send(String method, String path, String contentType, byte[] body) {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(base + path))
                .timeout(Deadlines.of(TIMEOUT))
                .method(method, body.length == 0 ? BodyPublishers.noBody() : BodyPublishers.ofByteArray(body));
        if (!contentType.isEmpty()) {
            request.header("Content-Type", contentType);
        }
        headers.forEach(request::header);
        try {
            return answer(request.build());
        } catch (IOException e) {
            throw new UncheckedIOException(method + " " + base + path, e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    private Answer answer(HttpRequest request) throws IOException, InterruptedException {
        HttpResponse<byte[]> response;
        try {
            response = client.send(request, BodyHandlers.ofByteArray());
        } catch (IOException e) {
            if (request.method().equals("POST") || !isClosedByItsPool(e)) {
                throw e;
            }
            response = client.send(request, BodyHandlers.ofByteArray());
        }
        return new Answer(
                response.statusCode(),
                response.headers().firstValue("Content-Type").orElse(""),
                response.body());
    }

    /**
     * Whether the JDK's client has closed a connection because of the answer to its next request: on a busy machine its
     * selector thread sees that a connection was put back into the pool only when the next request has already taken it
     * out.
     */
    private static boolean isClosedByItsPool(Throwable failure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            if (String.valueOf(cause.getMessage()).contains("Data received while in pool")) {
                return true;
            }
        }
        return false;
    }
}
