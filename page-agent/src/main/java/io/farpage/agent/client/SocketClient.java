package io.farpage.agent.client;

import java.io.IOException;
import java.io.InputStream;
import java.net.ConnectException;
import java.net.SocketException;
import java.net.http.HttpTimeoutException;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.eclipse.jetty.client.BytesRequestContent;
import org.eclipse.jetty.client.HttpClient;
import org.eclipse.jetty.client.InputStreamResponseListener;
import org.eclipse.jetty.client.PathRequestContent;
import org.eclipse.jetty.client.Request;
import org.eclipse.jetty.client.Response;
import org.eclipse.jetty.io.Transport;

/**
 * Over a Unix socket, which the JDK's HTTP client does not speak. The kernel shows the agent which user has connected.
 */
final class SocketClient implements AgentClient {
    /** A request has to name a host. A Unix socket has none, and the agent does not look at it. */
    private static final String ORIGIN = "http://localhost";

    private final AgentAddress.Unix address;
    private final Duration timeout;
    private final HttpClient client = new HttpClient();

    SocketClient(AgentAddress.Unix address, Duration timeout) {
        this.address = address;
        this.timeout = timeout;
        client.setConnectTimeout(timeout.toMillis());
        client.setIdleTimeout(timeout.toMillis());
        try {
            client.start();
        } catch (Exception e) {
            throw new IllegalStateException("the HTTP client does not start", e);
        }
    }

    private record Received(Response response, InputStream body) implements Answer {
        @Override
        public int status() {
            return response.getStatus();
        }

        @Override
        public Optional<String> header(String name) {
            return Optional.ofNullable(response.getHeaders().get(name));
        }

        @Override
        public void close() throws IOException {
            body.close();
        }
    }

    /** A request that is given up ends when the client is closed. */
    @Override
    public Answer send(String method, String path, Map<String, String> headers, Body body)
            throws IOException, InterruptedException {
        String type = headers.getOrDefault("Content-Type", "application/octet-stream");
        Request request = client.newRequest(ORIGIN + path)
                .transport(new Transport.TCPUnix(address.path()))
                .method(method)
                .headers(fields -> headers.forEach(fields::put));
        switch (body) {
            case Bytes(byte[] bytes) when bytes.length == 0 -> {}
            case Bytes(byte[] bytes) -> request.body(new BytesRequestContent(type, bytes));
            case Content(var file, var sent) ->
                request.body(new PathRequestContent(type, file))
                        .onRequestContent((_, bytes) -> sent.accept(bytes.remaining()));
        }
        InputStreamResponseListener answer = new InputStreamResponseListener();
        request.send(answer);
        try {
            Response head = answer.get(timeout.toMillis(), TimeUnit.MILLISECONDS);
            return new Received(head, answer.getInputStream());
        } catch (TimeoutException e) {
            throw new HttpTimeoutException("no answer came within " + timeout.toSeconds() + " s");
        } catch (ExecutionException e) {
            throw e.getCause() instanceof IOException cause ? cause : new IOException(e.getCause());
        }
    }

    @Override
    public String explain(IOException e) {
        String message = String.valueOf(e.getMessage());
        boolean absent = e instanceof ConnectException
                || (e instanceof SocketException && (message.contains("refused") || message.contains("No such file")));
        return "%s: %s".formatted(address, absent ? "nothing listens there; is it running?" : message);
    }

    @Override
    public void close() {
        try {
            client.stop();
        } catch (Exception e) {
            throw new IllegalStateException("the HTTP client does not stop", e);
        }
    }
}
