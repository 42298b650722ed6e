package io.farpage.bench.cluster;

import io.farpage.agent.control.guest.GuestRequest;
import io.farpage.agent.control.guest.GuestStatus;
import io.farpage.agent.control.guest.ParkRequest;
import io.farpage.agent.control.guest.ParkResult;
import io.farpage.agent.control.guest.SnapshotName;
import io.farpage.agent.control.guest.SnapshotPreparation;
import io.farpage.agent.control.guest.SnapshotStatus;
import io.farpage.agent.control.guest.UnparkRequest;
import io.farpage.agent.control.link.LinkStatus;
import io.farpage.agent.rest.AgentOperations;
import io.farpage.agent.rest.GuestOperations;
import io.farpage.agent.rest.PageOperations;
import io.farpage.guest.command.CommandException;
import io.farpage.rest.Health;
import io.farpage.rest.Json;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;

/** An agent's REST API, on a port of this host. Used by one thread. */
public final class AgentClient implements AutoCloseable {
    private static final Duration TIMEOUT = Duration.ofSeconds(60);
    private static final Duration LOAD_TIMEOUT = Duration.ofMinutes(10);
    private static final long LOOK_MILLIS = 20;
    /** The first digit of a status. */
    private static final int OK = 2;

    private static final Pattern FETCHED = Pattern.compile("(?m)^farpage_agent_fetched_bytes_total\\{.*} (\\S+)$");

    private final HttpClient http = HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(TIMEOUT)
            .build();
    private final String agent;

    public AgentClient(int port) {
        this.agent = "http://127.0.0.1:" + port;
    }

    /** What the agent's pool is made of, in lower case. */
    public String backing() throws InterruptedException {
        return read(get("/health"), Health.class)
                .details()
                .getOrDefault("pool", "unknown")
                .toLowerCase(Locale.ROOT)
                .replace('_', '-');
    }

    /** Has the agent listen for a VMM. */
    public GuestStatus attach(String space, GuestRequest request) throws InterruptedException {
        HttpRequest.Builder builder = request(GuestOperations.ATTACH.at(space).path())
                .header("Content-Type", "application/json")
                .PUT(BodyPublishers.ofByteArray(Json.STRICT.writeValueAsBytes(request)));
        return read(send(builder), GuestStatus.class);
    }

    /** Forgets the guest of a space, whose VMM has ended. */
    public void detach(String space) throws InterruptedException {
        done(send(request(GuestOperations.DETACH.at(space).path()).DELETE()));
    }

    /** Parks the guest of a space. */
    public ParkResult park(String space, ParkRequest request) throws InterruptedException {
        return read(post(GuestOperations.PARK.at(space).path(), request), ParkResult.class);
    }

    /** Ends parking. */
    public GuestStatus unpark(String space) throws InterruptedException {
        UnparkRequest request = new UnparkRequest(OptionalLong.empty());
        return read(post(GuestOperations.UNPARK.at(space).path(), request), GuestStatus.class);
    }

    /** Has pages of the guest of a space write-protected for a snapshot that follows. */
    public SnapshotPreparation prepareSnapshot(String space, String name) throws InterruptedException {
        return read(
                post(GuestOperations.PREPARE_SNAPSHOT.at(space).path(), new SnapshotName(name)),
                SnapshotPreparation.class);
    }

    /** Has the pages of the guest of a space frozen for a snapshot. */
    public SnapshotStatus snapshot(String space, String name) throws InterruptedException {
        return read(post(GuestOperations.SNAPSHOT.at(space).path(), new SnapshotName(name)), SnapshotStatus.class);
    }

    /** How far the snapshot of the guest of a space is. */
    public SnapshotStatus snapshot(String space) throws InterruptedException {
        return read(get(GuestOperations.SNAPSHOT_STATUS.at(space).path()), SnapshotStatus.class);
    }

    private HttpResponse<byte[]> post(String path, Object body) throws InterruptedException {
        return send(request(path)
                .header("Content-Type", "application/json")
                .POST(BodyPublishers.ofByteArray(Json.STRICT.writeValueAsBytes(body))));
    }

    /** How the guest of a space is. */
    public GuestStatus guest(String space) throws InterruptedException {
        return read(get(GuestOperations.SHOW.at(space).path()), GuestStatus.class);
    }

    /** Waits until the guest of a space has ended. Returns how it was then; empty if it has not ended in time. */
    public Optional<GuestStatus> awaitEnd(String space, Duration timeout) throws InterruptedException {
        long end = System.nanoTime() + timeout.toNanos();
        while (System.nanoTime() - end < 0) {
            GuestStatus status = guest(space);
            if (status.state().equals("ended")) {
                return Optional.of(status);
            }
            Thread.sleep(LOOK_MILLIS);
        }
        return Optional.empty();
    }

    /**
     * Replaces all memory of a space by the bytes of a file, which is as large.
     *
     * @param written bytes of the first part of the file; the others are zeros
     */
    public void load(String space, Path image, long written) throws InterruptedException {
        try {
            FileChunks chunks = FileChunks.of(image, written);
            done(send(request(PageOperations.LOAD.at(space).path())
                    .timeout(LOAD_TIMEOUT)
                    .header("Content-Type", PageOperations.BYTES)
                    .PUT(BodyPublishers.fromPublisher(chunks, chunks.bytes()))));
        } catch (IOException e) {
            throw new CommandException("cannot read " + image + ": " + e.getMessage(), e);
        }
    }

    /** Bytes that the agent has fetched so far, but for those of guests' faults, which {@link #guest} has. */
    public long fetchedBytes() throws InterruptedException {
        String text = new String(done(get("/metrics")).body(), StandardCharsets.UTF_8);
        return (long) FETCHED.matcher(text)
                .results()
                .mapToDouble(found -> Double.parseDouble(found.group(1)))
                .sum();
    }

    /** How many queue pairs of the agent's links are up. */
    public long queuePairsUp() throws InterruptedException {
        return Stream.of(read(get(AgentOperations.LIST_LINKS.path()), LinkStatus[].class))
                .flatMap(link -> link.queuePairs().stream())
                .filter(queuePair -> queuePair.state().equals("up"))
                .count();
    }

    /** Which transport the link with a peer uses: tcp or rdma. */
    public String transport(String peer) throws InterruptedException {
        return read(get(AgentOperations.TRANSPORTS.path()), JsonNode.class)
                .get("links")
                .valueStream()
                .filter(link -> link.get("peer").asString().equals(peer))
                .map(link -> link.get("transport").asString())
                .findFirst()
                .orElseThrow(() -> new CommandException("the agent has no link with " + peer));
    }

    private HttpRequest.Builder request(String path) {
        return HttpRequest.newBuilder(URI.create(agent + path)).timeout(TIMEOUT);
    }

    private HttpResponse<byte[]> get(String path) throws InterruptedException {
        return send(request(path).GET());
    }

    private HttpResponse<byte[]> send(HttpRequest.Builder builder) throws InterruptedException {
        HttpRequest request = builder.build();
        try {
            return http.send(request, BodyHandlers.ofByteArray());
        } catch (IOException e) {
            throw new CommandException(request.method() + " " + request.uri() + ": " + e, e);
        }
    }

    private static String call(HttpResponse<byte[]> answer) {
        return answer.request().method() + " " + answer.uri() + ": ";
    }

    private static HttpResponse<byte[]> done(HttpResponse<byte[]> answer) {
        if (answer.statusCode() / 100 != OK) {
            throw new CommandException(
                    call(answer) + answer.statusCode() + " " + new String(answer.body(), StandardCharsets.UTF_8));
        }
        return answer;
    }

    private static <T> T read(HttpResponse<byte[]> answer, Class<T> type) {
        try {
            return Json.LENIENT.readValue(done(answer).body(), type);
        } catch (JacksonException e) {
            throw new CommandException(call(answer) + e.getMessage(), e);
        }
    }

    @Override
    public void close() {
        http.close();
    }
}
