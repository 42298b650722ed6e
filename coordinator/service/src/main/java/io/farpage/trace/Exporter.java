package io.farpage.trace;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sends spans to a collector on a thread of its own. A queue that is full drops spans, and so does a collector that
 * does not take a batch; both are counted, and the log says so once until the collector takes one again. What offers a
 * span never waits.
 */
final class Exporter implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Exporter.class);
    private static final int QUEUE = 4096;
    private static final int BATCH = 512;
    private static final Duration GATHER = Duration.ofMillis(200);
    private static final Duration TIMEOUT = Duration.ofSeconds(5);
    private static final Duration LONGEST_PAUSE = Duration.ofSeconds(60);
    private static final int TRIES = 4;
    private static final int OK = 200;
    private static final int MULTIPLE = 300;
    /** As OTLP lists them. */
    private static final Set<Integer> RETRYABLE = Set.of(429, 502, 503, 504);

    private final URI endpoint;
    private final Map<String, Object> resource;
    private final BlockingQueue<Span> queue = new ArrayBlockingQueue<>(QUEUE);
    private final HttpClient http = HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(TIMEOUT)
            .executor(task -> Thread.ofVirtual().name("trace-http").start(task))
            .followRedirects(HttpClient.Redirect.NEVER)
            .build();
    private final CountDownLatch closing = new CountDownLatch(1);
    private final Thread thread;
    private final AtomicLong exported = new AtomicLong();
    private final AtomicLong dropped = new AtomicLong();
    private boolean failing;

    /**
     * Begins to export.
     *
     * @param endpoint of the collector; {@code /v1/traces} is added if it has no path
     * @param resource attributes of this process
     */
    Exporter(URI endpoint, Map<String, Object> resource) {
        String path = endpoint.getPath();
        this.endpoint = path == null || path.isEmpty() || path.equals("/") ? endpoint.resolve("/v1/traces") : endpoint;
        this.resource = Map.copyOf(resource);
        thread = Thread.ofVirtual().name("trace-export").start(this::run);
    }

    /** Queues a span, or drops it. Any thread. */
    void offer(Span span) {
        if (closing.getCount() == 0 || !queue.offer(span)) {
            dropped.incrementAndGet();
        }
    }

    private void run() {
        List<Span> batch = new ArrayList<>();
        try {
            while (closing.getCount() > 0 || !queue.isEmpty()) {
                Span first = queue.poll(GATHER.toMillis(), TimeUnit.MILLISECONDS);
                if (first == null) {
                    continue;
                }
                boolean _ = closing.await(GATHER.toMillis(), TimeUnit.MILLISECONDS);
                batch.add(first);
                queue.drainTo(batch, BATCH - 1);
                export(batch);
                batch.clear();
            }
        } catch (InterruptedException e) {
            dropped.addAndGet((long) batch.size() + queue.size());
        }
    }

    private void export(List<Span> batch) throws InterruptedException {
        byte[] body = Otlp.request(resource, batch);
        Duration pause = Duration.ofSeconds(1);
        for (int tries = 1; ; tries++) {
            Outcome outcome = post(body);
            if (outcome.done()) {
                exported.addAndGet(batch.size());
                took();
                return;
            }
            refused(outcome.detail());
            if (!outcome.again() || tries == TRIES || closing.await(outcome.pause(pause), TimeUnit.MILLISECONDS)) {
                dropped.addAndGet(batch.size());
                return;
            }
            pause = pause.multipliedBy(2);
        }
    }

    private record Outcome(boolean done, boolean again, Optional<Duration> wish, String detail) {
        long pause(Duration own) {
            Duration pause = wish.orElse(own);
            return (pause.compareTo(LONGEST_PAUSE) < 0 ? pause : LONGEST_PAUSE).toMillis();
        }
    }

    private Outcome post(byte[] body) throws InterruptedException {
        HttpRequest request = HttpRequest.newBuilder(endpoint)
                .header("Content-Type", Otlp.MEDIA_TYPE)
                .timeout(TIMEOUT)
                .POST(BodyPublishers.ofByteArray(body))
                .build();
        CompletableFuture<HttpResponse<Void>> answer = http.sendAsync(request, BodyHandlers.discarding());
        try {
            HttpResponse<Void> response = answer.get(TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
            int status = response.statusCode();
            Optional<Duration> wish = response.headers()
                    .firstValue("Retry-After")
                    .filter(text -> text.matches("\\d{1,6}"))
                    .map(text -> Duration.ofSeconds(Long.parseLong(text)));
            return new Outcome(
                    status >= OK && status < MULTIPLE,
                    RETRYABLE.contains(status),
                    wish,
                    "it answered with status " + status);
        } catch (TimeoutException e) {
            return new Outcome(false, true, Optional.empty(), "no answer within " + TIMEOUT.toSeconds() + " s");
        } catch (ExecutionException e) {
            return new Outcome(false, true, Optional.empty(), String.valueOf(e.getCause()));
        } finally {
            answer.cancel(true);
        }
    }

    private void took() {
        if (failing) {
            LOG.info("trace.otlp.endpoint {}: the collector takes spans again; {} were dropped", endpoint, dropped);
        }
        failing = false;
    }

    private void refused(String detail) {
        if (!failing) {
            LOG.warn(
                    "trace.otlp.endpoint {}: spans are not exported, and are dropped when {} wait: {}; start the"
                            + " collector there, or set trace.otlp.endpoint to its OTLP/HTTP address",
                    endpoint,
                    QUEUE,
                    detail);
        }
        failing = true;
    }

    long exported() {
        return exported.get();
    }

    long dropped() {
        return dropped.get();
    }

    /** Sends what is queued, for as long as that. */
    void close(Duration atMost) {
        closing.countDown();
        try {
            if (!thread.join(atMost)) {
                thread.interrupt();
            }
        } catch (InterruptedException e) {
            thread.interrupt();
            Thread.currentThread().interrupt();
        }
        http.shutdownNow();
    }

    @Override
    public void close() {
        close(Duration.ofSeconds(1));
    }
}
