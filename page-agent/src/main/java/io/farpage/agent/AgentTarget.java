package io.farpage.agent;

import io.farpage.agent.rest.AgentApi;
import io.farpage.log.Printable;
import io.farpage.rest.Json;
import io.farpage.rest.Problem;
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
        return send(agent, method, path, type, body);
    }

    static byte @Nullable [] send(String agent, String method, String path, String type, byte[] body)
            throws InterruptedException {
        HttpRequest request = HttpRequest.newBuilder(URI.create(agent + path))
                .timeout(TIMEOUT)
                .header("Content-Type", type)
                .method(method, body.length == 0 ? BodyPublishers.noBody() : BodyPublishers.ofByteArray(body))
                .build();
        try (HttpClient client = HttpClient.newBuilder().connectTimeout(TIMEOUT).build()) {
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
            System.err.println("page-agent: no answer from the agent at " + agent + ": "
                    + (e.getMessage() == null ? "nothing listens there; is it running?" : e.getMessage()));
            return null;
        }
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
