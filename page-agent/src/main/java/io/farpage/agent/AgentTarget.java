package io.farpage.agent;

import io.farpage.agent.rest.AgentApi;
import io.farpage.log.Printable;
import io.farpage.rest.Json;
import io.farpage.rest.Problem;
import io.farpage.tls.ClientOptions;
import io.farpage.tls.Peer;
import io.farpage.tls.TlsException;
import io.farpage.tls.TlsFailure;
import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Option;

/** The agent and the space that a command is for. */
final class AgentTarget {
    static final String DEFAULT = "http://127.0.0.1:7401";
    static final String JSON = "application/json";
    static final String BYTES = "application/octet-stream";

    private static final Duration TIMEOUT = Duration.ofSeconds(30);

    @Option(
            names = "--agent",
            paramLabel = "URL",
            defaultValue = DEFAULT,
            description = "REST API of the agent (default: ${DEFAULT-VALUE})")
    private String agent = "";

    @ArgGroup(exclusive = false)
    private ClientOptions security = new ClientOptions();

    @Option(names = "--space", required = true, description = "Name of the space")
    private String space = "";

    /** The path of a resource below the space. */
    URI uri(String below) {
        return URI.create(agent + space() + below);
    }

    /** Name of the space. */
    String name() {
        return space;
    }

    /** Path of the space in the REST API. */
    String space() {
        return "/api/v1/spaces/" + encode(space);
    }

    /** Sends a request. Prints the problem and gives null if it was refused. */
    byte @Nullable [] send(String method, String path, String type, byte[] body) throws InterruptedException {
        return send(new Caller(agent, security), method, path, type, body);
    }

    /** The agent at a URL, and what is shown to it. */
    record Caller(String agent, ClientOptions security) {}

    /** A client for requests to the agent. */
    HttpClient client() {
        return client(security);
    }

    private static HttpClient client(ClientOptions security) {
        HttpClient.Builder builder = HttpClient.newBuilder().connectTimeout(TIMEOUT);
        security.credentials().context(Peer.AGENT).ifPresent(builder::sslContext);
        return builder.build();
    }

    static byte @Nullable [] send(Caller to, String method, String path, String type, byte[] body)
            throws InterruptedException {
        String agent = to.agent();
        HttpRequest request = HttpRequest.newBuilder(URI.create(agent + path))
                .timeout(TIMEOUT)
                .header("Content-Type", type)
                .method(method, body.length == 0 ? BodyPublishers.noBody() : BodyPublishers.ofByteArray(body))
                .build();
        try (HttpClient client = client(to.security())) {
            HttpResponse<byte[]> response = client.send(request, BodyHandlers.ofByteArray());
            if (response.statusCode() / 100 == 2) {
                response.headers()
                        .firstValue(AgentApi.TORN)
                        .ifPresent(why -> System.err.println(
                                "page-agent: warning: the space is torn, its pages are older and newer ones: " + why));
                return response.body();
            }
            System.err.println("page-agent: " + detail(response));
            return null;
        } catch (IOException e) {
            System.err.println("page-agent: no answer from the agent at " + agent + ": " + reason(agent, e));
            return null;
        } catch (TlsException e) {
            System.err.println("page-agent: " + e.getMessage());
            return null;
        }
    }

    private static String reason(String agent, IOException e) {
        return TlsFailure.explain(e, agent.startsWith("https:"))
                .orElseGet(() -> e.getMessage() == null ? "nothing listens there; is it running?" : e.getMessage());
    }

    /** The message of an answer that is no success. */
    static String detail(HttpResponse<byte[]> response) {
        return detail(response.statusCode(), response.body());
    }

    static String detail(int status, byte[] body) {
        try {
            return Printable.of(Json.LENIENT.readValue(body, Problem.class).detail());
        } catch (RuntimeException e) {
            return "the agent answered " + status;
        }
    }

    static String encode(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
    }
}
