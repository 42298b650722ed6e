package io.farpage.bench.fault;

import io.farpage.agent.control.guest.GuestRequest;
import io.farpage.agent.control.guest.GuestStatus;
import io.farpage.guest.command.CommandException;
import io.farpage.rest.Json;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;

/** The routes of an agent's REST API that are for one space's guest. */
final class GuestClient {
    private static final Duration TIMEOUT = Duration.ofSeconds(20);
    private static final int OK = 200;

    private final HttpClient http =
            HttpClient.newBuilder().connectTimeout(TIMEOUT).build();
    private final URI agent;
    private final URI space;

    GuestClient(int port, String space) {
        this.agent = URI.create("http://127.0.0.1:" + port + "/api/v1");
        this.space = URI.create(agent + "/spaces/" + space);
    }

    /** Has the agent listen for a VMM. */
    GuestStatus attach(GuestRequest request) throws InterruptedException {
        byte[] body = Json.STRICT.writeValueAsBytes(request);
        HttpRequest.Builder builder = HttpRequest.newBuilder(URI.create(space + "/guest"))
                .header("Content-Type", "application/json")
                .PUT(BodyPublishers.ofByteArray(body));
        return read(send(builder), GuestStatus.class);
    }

    /** How the guest is. */
    GuestStatus status() throws InterruptedException {
        return read(send(HttpRequest.newBuilder(space).GET()), GuestStatus.class);
    }

    /** Which transport the link with a peer uses: tcp or rdma. */
    String transport(String peer) throws InterruptedException {
        JsonNode status = read(
                send(HttpRequest.newBuilder(URI.create(agent + "/transport/status"))
                        .GET()),
                JsonNode.class);
        return status.get("links")
                .valueStream()
                .filter(link -> link.get("peer").asString().equals(peer))
                .map(link -> link.get("transport").asString())
                .findFirst()
                .orElseThrow(() -> new CommandException("the agent has no link with " + peer));
    }

    private HttpResponse<byte[]> send(HttpRequest.Builder builder) throws InterruptedException {
        HttpRequest request = builder.timeout(TIMEOUT).build();
        try {
            return http.send(request, BodyHandlers.ofByteArray());
        } catch (IOException e) {
            throw new CommandException(request.method() + " " + request.uri() + ": " + e, e);
        }
    }

    private static <T> T read(HttpResponse<byte[]> answer, Class<T> type) {
        String what = answer.request().method() + " " + answer.uri() + ": ";
        if (answer.statusCode() != OK) {
            throw new CommandException(
                    what + answer.statusCode() + " " + new String(answer.body(), StandardCharsets.UTF_8));
        }
        try {
            return Json.LENIENT.readValue(answer.body(), type);
        } catch (JacksonException e) {
            throw new CommandException(what + e.getMessage(), e);
        }
    }
}
