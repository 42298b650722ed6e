package io.farpage.coordinator.client;

import io.farpage.coordinator.model.RebuildStatus;
import io.farpage.coordinator.model.Seen;
import io.farpage.coordinator.model.Stamp;
import io.farpage.rest.Json;
import io.farpage.rest.Problem;
import io.farpage.tls.Credentials;
import io.farpage.tls.Peer;
import io.farpage.tls.TlsException;
import io.farpage.tls.TlsFailure;
import io.farpage.trace.ActiveSpan;
import io.farpage.trace.Span;
import io.farpage.trace.TraceContext;
import io.farpage.trace.Tracer;
import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;

/** Sends one request, waits for the whole answer until a deadline, and sorts answers from failures. */
final class Transport implements AutoCloseable {

    private static final int CLIENT_ERROR = 400;
    private static final int TOO_MANY_REQUESTS = 429;
    private static final int SERVICE_UNAVAILABLE = 503;
    /** Header of a follower's refusals: the leader's URL, or {@link #NO_LEADER}. */
    static final String LEADER = "Farpage-Leader";

    static final String NO_LEADER = "none";
    private static final long LONGEST_PAUSE = 250;
    private static final Duration DEFAULT_PAUSE = Duration.ofSeconds(1);

    private final Addresses addresses;
    private final Duration deadline;
    private final Allegiance allegiance;
    private final Credentials credentials;
    private volatile Connections connections;
    private final boolean ownsConnections;
    private final CountDownLatch ended = new CountDownLatch(1);
    private volatile boolean closed;

    /**
     * Connections that were made with the same certificates.
     *
     * @param context that they were made with; empty for plain HTTP
     * @param earlier those before: they end once they are idle, and with this client at the latest
     */
    private record Connections(HttpClient http, Optional<SSLContext> context, Optional<HttpClient> earlier) {}

    Transport(Addresses addresses, Duration deadline, Allegiance allegiance, Credentials credentials) {
        this.addresses = addresses;
        this.deadline = deadline;
        this.allegiance = allegiance;
        this.credentials = credentials;
        this.connections = connect(credentials.context(Peer.COORDINATOR), Optional.empty());
        this.ownsConnections = true;
    }

    /** Over plain HTTP, by connections of others, which stay open when this is closed. */
    Transport(Addresses addresses, Duration deadline, HttpClient shared) {
        this.addresses = addresses;
        this.deadline = deadline;
        this.allegiance = new Allegiance();
        this.credentials = Credentials.NONE;
        this.connections = new Connections(shared, Optional.empty(), Optional.empty());
        this.ownsConnections = false;
    }

    Allegiance allegiance() {
        return allegiance;
    }

    /** The client's own pool would keep as many threads as calls were ever under way at once, each for a minute. */
    private Connections connect(Optional<SSLContext> context, Optional<HttpClient> earlier) {
        HttpClient.Builder builder = HttpClient.newBuilder()
                .version(HttpClient.Version.HTTP_1_1)
                .connectTimeout(deadline)
                .executor(task -> Thread.ofVirtual().name("coordinator-client").start(task))
                .followRedirects(HttpClient.Redirect.NEVER);
        context.ifPresent(builder::sslContext);
        return new Connections(builder.build(), context, earlier);
    }

    /** Changed certificates take new connections; requests that are under way end on theirs. */
    private HttpClient http() {
        Connections now = connections;
        return credentials.context(Peer.COORDINATOR).equals(now.context()) ? now.http() : reconnect();
    }

    private synchronized HttpClient reconnect() {
        Connections now = connections;
        Optional<SSLContext> context = credentials.context(Peer.COORDINATOR);
        if (!context.equals(now.context())) {
            connections = connect(context, Optional.of(now.http()));
            if (closed) {
                close();
            }
        }
        return connections.http();
    }

    /** Sends a request and reads the answer; the extra time is for calls that the coordinator itself lets wait. */
    <T> T call(String method, String path, @Nullable Object body, Class<T> type, Duration extra)
            throws CoordinatorException {
        String operation = method + " " + path;
        HttpResponse<byte[]> response = send(operation, new Call(method, path, body), deadline.plus(extra));
        Optional<CoordinatorException> refusal = refusal(operation, response);
        if (refusal.isPresent()) {
            throw refusal.get();
        }
        return read(operation, response.body(), type);
    }

    <T> T call(String method, String path, @Nullable Object body, Class<T> type) throws CoordinatorException {
        return call(method, path, body, type, Duration.ZERO);
    }

    /** Sends a request whose answer has no content that matters. */
    void call(String method, String path, @Nullable Object body) throws CoordinatorException {
        String operation = method + " " + path;
        HttpResponse<byte[]> response = send(operation, new Call(method, path, body), deadline);
        Optional<CoordinatorException> refusal = refusal(operation, response);
        if (refusal.isPresent()) {
            throw refusal.get();
        }
    }

    /** A call to a coordinator that is being rebuilt, which keeps no cluster yet and so is judged by no allegiance. */
    RebuildStatus rebuild(String method, String path, @Nullable Object body) throws CoordinatorException {
        String operation = method + " " + path;
        HttpResponse<byte[]> response = send(operation, new Call(method, path, body), deadline);
        if (response.statusCode() >= 200 && response.statusCode() < 300) {
            return read(operation, response.body(), RebuildStatus.class);
        }
        String type = response.headers().firstValue("Content-Type").orElse("").toLowerCase(Locale.ROOT);
        if (!type.startsWith(Problem.MEDIA_TYPE)) {
            throw notACoordinator(operation, response.statusCode(), type);
        }
        throw new CoordinatorRefusedException(operation, read(operation, response.body(), Problem.class));
    }

    private CoordinatorUnreachableException notACoordinator(String operation, int status, String type) {
        return new CoordinatorUnreachableException(
                "coordinator at %s not reached (%s): status %d of type '%s', so it is no coordinator that listens there"
                        .formatted(addresses.current(), operation, status, type));
    }

    /** Gets something that may not be there. */
    <T> Optional<T> find(String path, Class<T> type) throws CoordinatorException {
        try {
            return Optional.of(call("GET", path, null, type));
        } catch (CoordinatorRefusedException e) {
            if (e.isNotFound()) {
                return Optional.empty();
            }
            throw e;
        }
    }

    @Override
    public void close() {
        closed = true;
        ended.countDown();
        if (!ownsConnections) {
            return;
        }
        Connections now = connections;
        now.http().shutdownNow();
        now.earlier().ifPresent(HttpClient::shutdownNow);
    }

    /** What is sent, to the coordinator that is called at that time. */
    private record Call(
            String method, String path, @Nullable Object body) {
        boolean isPoll() {
            return path.contains("wait=");
        }
    }

    /** One request as a span of its own, if this process is traced. A long poll that was not called for by another span is none. */
    private HttpResponse<byte[]> sendTraced(String operation, URI base, Call call, Duration limit)
            throws CoordinatorUnreachableException {
        Tracer tracer = Tracer.current();
        if (tracer == null || (call.isPoll() && Tracer.context().isEmpty())) {
            return sendOnce(operation, request(base, call, Optional.empty()), limit);
        }
        Optional<ActiveSpan> span = tracer.start(call.method(), Span.Kind.CLIENT);
        try {
            HttpResponse<byte[]> response =
                    sendOnce(operation, request(base, call, span.map(ActiveSpan::context)), limit);
            span.ifPresent(active -> answered(active, response.statusCode()));
            return response;
        } catch (CoordinatorUnreachableException e) {
            span.ifPresent(active -> active.fail(String.valueOf(e.getMessage())));
            throw e;
        } finally {
            span.ifPresent(active -> {
                active.attribute("http.request.method", call.method());
                active.attribute("url.full", base.resolve(call.path()).toString());
                active.attribute("server.address", base.getHost());
                active.end();
            });
        }
    }

    private static void answered(ActiveSpan span, int status) {
        span.attribute("http.response.status_code", (long) status);
        if (status >= CLIENT_ERROR) {
            span.fail("status " + status);
        }
    }

    private HttpRequest request(URI base, Call call, Optional<TraceContext> trace)
            throws CoordinatorUnreachableException {
        String method = call.method();
        String path = call.path();
        @Nullable Object body = call.body();
        HttpRequest.Builder builder = HttpRequest.newBuilder(base.resolve(path)).header("Accept", "application/json");
        allegiance.seen().ifPresent(seen -> builder.header(Seen.HEADER, seen.toString()));
        trace.ifPresent(context -> builder.header(TraceContext.HEADER, context.header()));
        authorize(builder, method + " " + path);
        if (body == null) {
            return builder.method(method, BodyPublishers.noBody()).build();
        }
        return builder.header("Content-Type", "application/json")
                .method(method, BodyPublishers.ofByteArray(Json.LENIENT.writeValueAsBytes(body)))
                .build();
    }

    private void authorize(HttpRequest.Builder builder, String operation) throws CoordinatorUnreachableException {
        try {
            Optional<String> authorization = credentials.authorization();
            if (authorization.isPresent() && !isSecure()) {
                throw new TlsException("a token is sent over https only; use https:// and --ca");
            }
            authorization.ifPresent(value -> builder.header("Authorization", value));
        } catch (TlsException e) {
            throw unreachable(operation, String.valueOf(e.getMessage()), e);
        }
    }

    private boolean isSecure() {
        return "https".equals(addresses.current().getScheme());
    }

    /**
     * Sends a request, and sends it again when the coordinator says so (429, or 503, with Retry-After), within the deadline. A coordinator that has no
     * time until the deadline is as one that is away: it has done nothing, and the caller tries later.
     */
    private HttpResponse<byte[]> send(String operation, Call request, Duration limit)
            throws CoordinatorUnreachableException {
        long deadline = System.nanoTime() + limit.toNanos();
        Duration left = limit;
        while (true) {
            HttpResponse<byte[]> response = sendToLeader(operation, request, left);
            Optional<Duration> pause = pause(response);
            if (pause.isEmpty()) {
                return response;
            }
            left = Duration.ofNanos(deadline - System.nanoTime()).minus(pause.get());
            if (!left.isPositive() && response.statusCode() == SERVICE_UNAVAILABLE) {
                return response;
            }
            if (!left.isPositive()) {
                throw new CoordinatorUnreachableException(
                        "coordinator at %s has no time for this agent (%s): status %d, try again in %d s"
                                .formatted(
                                        addresses.current(),
                                        operation,
                                        response.statusCode(),
                                        pause.get().toSeconds()));
            }
            awaitPause(operation, pause.get());
        }
    }

    /** How long the coordinator wants the client to wait (Retry-After in seconds, RFC 9110, section 10.2.3). */
    private static Optional<Duration> pause(HttpResponse<byte[]> response) {
        Optional<String> header = response.headers().firstValue("Retry-After");
        boolean busy = response.statusCode() == TOO_MANY_REQUESTS
                || (response.statusCode() == SERVICE_UNAVAILABLE && header.isPresent());
        if (!busy) {
            return Optional.empty();
        }
        return Optional.of(header.filter(text -> text.matches("\\d{1,6}"))
                .map(text -> Duration.ofSeconds(Long.parseLong(text)))
                .orElse(DEFAULT_PAUSE));
    }

    private void awaitPause(String operation, Duration pause) throws CoordinatorUnreachableException {
        try {
            if (ended.await(pause.toMillis(), TimeUnit.MILLISECONDS)) {
                throw unreachable(operation, "this client was closed", new IOException("closed"));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw unreachable(operation, "interrupted while the coordinator lets wait", e);
        }
    }

    /**
     * Sends a request to the coordinator that leads. It is sent again, to another coordinator, only where none can have carried it out: nothing
     * listened, or a follower refused it. A call that fails otherwise is the caller's to repeat, and goes to another coordinator then.
     */
    private HttpResponse<byte[]> sendToLeader(String operation, Call call, Duration limit)
            throws CoordinatorUnreachableException {
        long end = System.nanoTime() + limit.toNanos();
        Duration left = limit;
        for (int tries = 1; ; tries++) {
            URI base = addresses.current();
            boolean last = !pauseFits(end);
            try {
                HttpResponse<byte[]> response = sendTraced(operation, base, call, left);
                Optional<String> leader = response.headers().firstValue(LEADER);
                if (leader.isEmpty()) {
                    return response;
                }
                addresses.follow(base, leader(leader.get(), base));
                if (last) {
                    // A follower's refusal says nothing of the cluster's state, so the allegiance is not asked.
                    throw new CoordinatorUnreachableException(
                            "coordinator at %s follows (%s): the leader that it names, '%s', was not reached in time"
                                    .formatted(base, operation, leader.get()));
                }
            } catch (CoordinatorUnreachableException e) {
                addresses.leave(base);
                if (last || addresses.size() == 1 || closed || !(e.getCause() instanceof ConnectException)) {
                    throw e;
                }
            }
            if (tries % 2 == 0) {
                awaitPause(
                        operation, Duration.ofMillis(ThreadLocalRandom.current().nextLong(50, LONGEST_PAUSE)));
            }
            left = Duration.ofNanos(end - System.nanoTime());
        }
    }

    private static boolean pauseFits(long end) {
        return end - System.nanoTime() > Duration.ofMillis(2 * LONGEST_PAUSE).toNanos();
    }

    /** The leader that a follower names; the follower itself if it knows of none or the name is no URL. */
    private static URI leader(String named, URI follower) {
        try {
            return named.equals(NO_LEADER) ? follower : URI.create(named);
        } catch (IllegalArgumentException e) {
            return follower;
        }
    }

    /** HttpRequest.timeout ends with the headers; waiting on the future bounds the body as well, and cancelling it ends the exchange. */
    private HttpResponse<byte[]> sendOnce(String operation, HttpRequest request, Duration limit)
            throws CoordinatorUnreachableException {
        if (closed) {
            throw unreachable(operation, "this client is closed", new IOException("closed"));
        }
        CompletableFuture<HttpResponse<byte[]>> answer = http().sendAsync(request, BodyHandlers.ofByteArray());
        try {
            return answer.get(limit.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            answer.cancel(true);
            throw unreachable(operation, "no answer within " + limit.toMillis() + " ms", e);
        } catch (InterruptedException e) {
            answer.cancel(true);
            Thread.currentThread().interrupt();
            throw unreachable(operation, "interrupted while waiting for the answer", e);
        } catch (ExecutionException e) {
            Throwable cause = e.getCause() == null ? e : e.getCause();
            throw unreachable(operation, reason(cause), cause);
        }
    }

    private String reason(Throwable cause) {
        if (closed) {
            return "this client was closed";
        }
        Optional<String> tls = TlsFailure.explain(cause, isSecure());
        if (tls.isPresent()) {
            return tls.get();
        }
        if (cause instanceof ConnectException) {
            return "nothing listens there; is the coordinator running?";
        }
        return cause.getMessage() == null ? cause.getClass().getSimpleName() : cause.getMessage();
    }

    private CoordinatorUnreachableException unreachable(String operation, String reason, Throwable cause) {
        return new CoordinatorUnreachableException(
                "coordinator at %s not reached (%s): %s".formatted(addresses.current(), operation, reason), cause);
    }

    private <T> T read(String operation, byte[] body, Class<T> type) throws CoordinatorUnreachableException {
        try {
            return Json.LENIENT.readValue(body, type);
        } catch (JacksonException e) {
            throw unreachable(operation, "the answer is not what a coordinator says: " + e.getOriginalMessage(), e);
        }
    }

    /** Why an answer cannot be used: the allegiance refuses it, or it is a problem. Empty if it can. */
    private Optional<CoordinatorException> refusal(String operation, HttpResponse<byte[]> response) {
        if (response.statusCode() >= 200 && response.statusCode() < 300) {
            return disobeyed(operation, response, Optional.empty());
        }
        String type = response.headers().firstValue("Content-Type").orElse("").toLowerCase(Locale.ROOT);
        if (!type.startsWith(Problem.MEDIA_TYPE)) {
            return Optional.of(notACoordinator(operation, response.statusCode(), type));
        }
        try {
            Problem problem = read(operation, response.body(), Problem.class);
            return disobeyed(operation, response, Optional.of(problem))
                    .or(() -> Optional.of(new CoordinatorRefusedException(operation, problem)));
        } catch (CoordinatorUnreachableException e) {
            return Optional.of(e);
        }
    }

    private Optional<CoordinatorException> disobeyed(
            String operation, HttpResponse<byte[]> response, Optional<Problem> problem) {
        URI base = addresses.current();
        Optional<String> reason = allegiance.check(Stamp.read(response.headers()::firstValue), problem);
        // A follower of another cluster may have named it: the next call goes to a coordinator that was configured.
        reason.ifPresent(_ -> addresses.leave(base));
        return reason.map(why -> new CoordinatorNotObeyedException(
                "coordinator at %s is not obeyed (%s): %s".formatted(base, operation, why),
                problem.filter(Allegiance::isRebuilding).isPresent()));
    }
}
