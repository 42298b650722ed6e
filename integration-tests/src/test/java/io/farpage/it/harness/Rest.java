package io.farpage.it.harness;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;

/** A REST interface of a child. Any thread. */
public final class Rest {
    private static final Duration TIMEOUT = Duration.ofSeconds(20);
    private static final HttpClient CLIENT = HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(TIMEOUT)
            .build();

    private final URI base;

    public Rest(int port) {
        this.base = URI.create("http://127.0.0.1:" + port);
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
                .timeout(TIMEOUT)
                .method(method, body.length == 0 ? BodyPublishers.noBody() : BodyPublishers.ofByteArray(body));
        if (!contentType.isEmpty()) {
            request.header("Content-Type", contentType);
        }
        try {
            var response = CLIENT.send(request.build(), BodyHandlers.ofByteArray());
            return new Answer(
                    response.statusCode(),
                    response.headers().firstValue("Content-Type").orElse(""),
                    response.body());
        } catch (IOException e) {
            throw new UncheckedIOException(method + " " + base + path, e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }
}
