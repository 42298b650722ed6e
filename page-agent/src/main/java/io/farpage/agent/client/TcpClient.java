package io.farpage.agent.client;

import io.farpage.tls.ClientOptions;
import io.farpage.tls.Peer;
import io.farpage.tls.TlsFailure;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;

/** Over TCP, with TLS for an https URL. */
final class TcpClient implements AgentClient {
    private static final Duration CONNECT = Duration.ofSeconds(30);

    private final AgentAddress.Tcp address;
    private final Duration timeout;
    private final HttpClient client;

    TcpClient(AgentAddress.Tcp address, ClientOptions security, Duration timeout) {
        this.address = address;
        this.timeout = timeout;
        HttpClient.Builder builder = HttpClient.newBuilder().connectTimeout(CONNECT);
        security.credentials().context(Peer.AGENT).ifPresent(builder::sslContext);
        client = builder.build();
    }

    private record Received(HttpResponse<InputStream> response) implements Answer {
        @Override
        public int status() {
            return response.statusCode();
        }

        @Override
        public Optional<String> header(String name) {
            return response.headers().firstValue(name);
        }

        @Override
        public InputStream body() {
            return response.body();
        }

        @Override
        public void close() throws IOException {
            response.body().close();
        }
    }

    @Override
    public Answer send(String method, String path, Map<String, String> headers, Body body)
            throws IOException, InterruptedException {
        BodyPublisher content = switch (body) {
            case Bytes(byte[] bytes) when bytes.length == 0 -> BodyPublishers.noBody();
            case Bytes(byte[] bytes) -> BodyPublishers.ofByteArray(bytes);
            case Content(var file, var sent) -> new CountingPublisher(BodyPublishers.ofFile(file), sent);
        };
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(address.url() + path))
                .timeout(timeout)
                .method(method, content);
        headers.forEach(request::header);
        return new Received(client.send(request.build(), BodyHandlers.ofInputStream()));
    }

    @Override
    public String explain(IOException e) {
        return "%s: %s"
                .formatted(
                        address,
                        TlsFailure.explain(e, "https".equals(address.url().getScheme()))
                                .orElseGet(() -> e.getMessage() == null
                                        ? "nothing listens there; is it running?"
                                        : e.getMessage()));
    }

    @Override
    public void close() {
        client.close();
    }
}
