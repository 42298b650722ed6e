package io.farpage.coordinator.server;

import io.farpage.config.Config;
import io.farpage.coordinator.client.CoordinatorClient;
import io.farpage.coordinator.cluster.FakeTime;
import io.farpage.coordinator.config.Settings;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongSupplier;

/**
 * A coordinator in this process on a port that the system chose, its client, and plain HTTP for what the client would
 * not send.
 */
public final class Running implements AutoCloseable {

    final FakeTime time;
    public final Coordinator coordinator;
    public final CoordinatorClient client;
    private final HttpClient http = HttpClient.newHttpClient();

    /** Starts one on a store in a directory. */
    public static Running on(Path directory) {
        return new Running(directory);
    }

    public Running(Path directory) {
        this(directory, new FakeTime(), Map.of());
    }

    public Running(Path directory, FakeTime time, Map<String, String> more) {
        this(directory, time, more, System::nanoTime);
    }

    /** @param limitsClock by which rates are limited */
    public Running(Path directory, FakeTime time, Map<String, String> more, LongSupplier limitsClock) {
        Map<String, String> flags = new LinkedHashMap<>(more);
        flags.putIfAbsent("server.listen", "127.0.0.1:0");
        flags.put("store.directory", directory.toString());
        Config config = Settings.check(Settings.SCHEMA.load(Optional.empty(), Map.of(), flags));
        this.time = time;
        this.coordinator = Coordinator.start(config, time, Doors.open(config, limitsClock));
        this.client = new CoordinatorClient(coordinator.url(), Duration.ofSeconds(30));
    }

    /** Where it listens. */
    public URI url() {
        return coordinator.url();
    }

    HttpResponse<String> send(String method, String path, String body) throws IOException, InterruptedException {
        return send(
                HttpRequest.newBuilder()
                        .method(
                                method,
                                body.isEmpty()
                                        ? HttpRequest.BodyPublishers.noBody()
                                        : HttpRequest.BodyPublishers.ofString(body))
                        .header("Content-Type", "application/json"),
                path);
    }

    HttpResponse<String> send(HttpRequest.Builder request, String path) throws IOException, InterruptedException {
        URI uri = URI.create(coordinator.url() + path);
        return http.send(
                request.uri(uri).timeout(Duration.ofSeconds(60)).build(), HttpResponse.BodyHandlers.ofString());
    }

    @Override
    public void close() {
        client.close();
        http.shutdownNow(); // the coordinator waits for connections that were in use a moment ago
        coordinator.close();
    }
}
