package io.farpage.it.harness;

import io.farpage.coordinator.model.Stamp;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Asks each coordinator without a pause for what the leader alone may answer, and measures for how long none does. */
public final class LeaderWatch implements AutoCloseable {
    private static final Duration TIMEOUT = Duration.ofMillis(500);
    private static final long PAUSE_MILLIS = 20;

    private final HttpClient client = HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(TIMEOUT)
            .build();
    private final AnswerHistory history;
    private final CountDownLatch ended = new CountDownLatch(1);
    private final List<Thread> threads = new ArrayList<>();
    private long answered = System.nanoTime();
    private long longest;

    /** Begins. */
    public LeaderWatch(List<URI> coordinators, AnswerHistory history) {
        this.history = history;
        for (URI coordinator : coordinators) {
            threads.add(Thread.ofPlatform()
                    .daemon()
                    .name("watch-" + coordinator.getHost())
                    .start(() -> watch(coordinator)));
        }
    }

    private void watch(URI coordinator) {
        HttpRequest request = HttpRequest.newBuilder(coordinator.resolve("/api/v1/nodes"))
                .timeout(TIMEOUT)
                .build();
        try {
            while (!ended.await(PAUSE_MILLIS, TimeUnit.MILLISECONDS)) {
                AnswerHistory.Point sent = history.now();
                try {
                    HttpResponse<Void> answer = client.send(request, BodyHandlers.discarding());
                    if (answer.statusCode() == 200) {
                        answered();
                        Stamp stamp = Stamp.read(answer.headers()::firstValue).orElseThrow();
                        history.answered(sent, coordinator, stamp.cluster(), stamp.epoch(), stamp.revision());
                    }
                } catch (IOException away) {
                    // It was killed, stopped or cut off.
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private synchronized void answered() {
        long now = System.nanoTime();
        longest = Math.max(longest, now - answered);
        answered = now;
    }

    /** The longest time since the last call in which none has answered as the leader. */
    public synchronized Duration takeLongest() {
        Duration took = Duration.ofNanos(longest);
        longest = 0;
        return took;
    }

    @Override
    public void close() {
        ended.countDown();
        client.shutdownNow();
    }
}
