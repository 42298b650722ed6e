package io.farpage.coordinator.client;

import io.farpage.coordinator.model.Seen;
import io.farpage.rest.Json;
import io.farpage.rest.Operation;
import io.farpage.tls.Credentials;
import io.farpage.tls.TlsException;
import io.farpage.tls.TlsFailure;
import io.farpage.trace.ActiveSpan;
import io.farpage.trace.Span;
import io.farpage.trace.TraceContext;
import io.farpage.trace.Tracer;
import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * Sends a request once, to one coordinator, with what the allegiance has seen and the credentials, and waits for the
 * whole answer. Says why a coordinator was not reached. Thread-safe.
 */
final class Sender {

    private static final int CLIENT_ERROR = 400;

    private final Addresses addresses;
    private final Connections connections;
    private final Allegiance allegiance;
    private final Credentials credentials;

    Sender(Addresses addresses, Connections connections, Allegiance allegiance, Credentials credentials) {
        this.addresses = addresses;
        this.connections = connections;
        this.allegiance = allegiance;
        this.credentials = credentials;
    }

    /**
     * One request as a span of its own, if this process is traced. A long poll that was not called for by another span
     * is none.
     */
    HttpResponse<byte[]> send(URI base, Call call, Duration limit) throws CoordinatorUnreachableException {
        Tracer tracer = Tracer.current();
        if (tracer == null || (call.isPoll() && Tracer.context().isEmpty())) {
            return exchange(call, request(base, call, Optional.empty()), limit);
        }
        Optional<ActiveSpan> span = tracer.start(call.method(), Span.Kind.CLIENT);
        try {
            HttpResponse<byte[]> response = exchange(call, request(base, call, span.map(ActiveSpan::context)), limit);
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
        @Nullable Object body = call.body();
        HttpRequest.Builder builder =
                HttpRequest.newBuilder(base.resolve(call.path())).header("Accept", "application/json");
        allegiance.seen().ifPresent(seen -> builder.header(Seen.HEADER, seen.toString()));
        trace.ifPresent(context -> builder.header(TraceContext.HEADER, context.header()));
        call.key().ifPresent(key -> builder.header(Operation.IDEMPOTENCY_KEY, "\"" + key + "\""));
        authorize(builder, call);
        if (body == null) {
            return builder.method(call.method(), BodyPublishers.noBody()).build();
        }
        return builder.header("Content-Type", "application/json")
                .method(call.method(), BodyPublishers.ofByteArray(Json.LENIENT.writeValueAsBytes(body)))
                .build();
    }

    private void authorize(HttpRequest.Builder builder, Call call) throws CoordinatorUnreachableException {
        try {
            Optional<String> authorization = credentials.authorization();
            if (authorization.isPresent() && !isSecure()) {
                throw new TlsException("a token is sent over https only; use https:// and --ca");
            }
            authorization.ifPresent(value -> builder.header("Authorization", value));
        } catch (TlsException e) {
            throw unreachable(call, String.valueOf(e.getMessage()), e);
        }
    }

    private boolean isSecure() {
        return "https".equals(addresses.current().getScheme());
    }

    /**
     * HttpRequest.timeout ends with the headers; waiting on the future bounds the body as well, and cancelling it ends
     * the exchange.
     */
    private HttpResponse<byte[]> exchange(Call call, HttpRequest request, Duration limit)
            throws CoordinatorUnreachableException {
        if (connections.isClosed()) {
            throw unreachable(call, "this client is closed", new IOException("closed"));
        }
        CompletableFuture<HttpResponse<byte[]>> answer =
                connections.http().sendAsync(request, BodyHandlers.ofByteArray());
        try {
            return answer.get(limit.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            answer.cancel(true);
            throw unreachable(call, "no answer within " + limit.toMillis() + " ms", e);
        } catch (InterruptedException e) {
            answer.cancel(true);
            Thread.currentThread().interrupt();
            throw unreachable(call, "interrupted while waiting for the answer", e);
        } catch (ExecutionException e) {
            Throwable cause = e.getCause() == null ? e : e.getCause();
            throw unreachable(call, reason(cause), cause);
        }
    }

    private String reason(Throwable cause) {
        if (connections.isClosed()) {
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

    private CoordinatorUnreachableException unreachable(Call call, String reason, Throwable cause) {
        return CoordinatorUnreachableException.of(addresses.current(), call, reason, cause);
    }
}
