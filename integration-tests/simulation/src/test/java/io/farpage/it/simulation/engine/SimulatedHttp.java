package io.farpage.it.simulation.engine;

import io.javalin.Javalin;
import jakarta.servlet.Servlet;
import java.io.IOException;
import java.net.Authenticator;
import java.net.ConnectException;
import java.net.CookieHandler;
import java.net.ProxySelector;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Flow;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSession;

/** HTTP between the processes: requests and answers that are late or lost. */
public final class SimulatedHttp extends HttpClient {
    private static final Map<String, Served> SERVED = new HashMap<>();
    private static final Faults FAULTS = new Faults();

    /** After so long at most a client finds that its connection is gone; its own deadline may come first. */
    private static final long LOST_NANOS = 8_000_000_000L;

    /** The first status of an answer that has not what was asked for. */
    private static final int MULTIPLE_CHOICES = 300;

    private record Served(Node node, Servlet servlet) {}

    /** What may happen to a request. */
    public static final class Faults {
        /** One request in this number is lost, and one answer; 0: none. */
        public int lossOneIn;
        /** One request in this number is sent twice, as by a client whose connection ends; 0: none. */
        public int twiceOneIn;
        /** One request in this number, and one answer, is late by up to {@link #lateNanos}. */
        public int lateOneIn;

        public long lateNanos;
        /** The process whose requests to the processes of that name are refused; none if there is none. */
        private Optional<Node> refused = Optional.empty();

        private String refusing = "";

        /** Refuses all requests of a process to those of a name. */
        public void refuse(Node client, String server) {
            refused = Optional.of(client);
            refusing = server;
        }

        public void refuseNone() {
            refused = Optional.empty();
        }

        private boolean areRefused(Node client, Node server) {
            return refused.filter(client::equals).isPresent() && server.name().equals(refusing);
        }
    }

    @SuppressWarnings("ArrayRecordComponent") // compared by no code
    private record Answer(int status, Map<String, List<String>> headers, byte[] body) {}

    public static Faults faults() {
        return FAULTS;
    }

    static HttpClient.Builder builder() {
        return new Builder();
    }

    /** A client. */
    public static HttpClient client() {
        return new SimulatedHttp();
    }

    static void serve(Node node, Javalin app) {
        Served served = new Served(node, app.javalinServlet());
        SERVED.put(node.address(), served);
        node.onDeath(() -> SERVED.remove(node.address(), served));
    }

    static void end(Node node) {
        Served served = SERVED.get(node.address());
        if (served != null && served.node() == node) {
            SERVED.remove(node.address());
        }
    }

    @Override
    public <T> CompletableFuture<HttpResponse<T>> sendAsync(HttpRequest request, HttpResponse.BodyHandler<T> handler) {
        Engine engine = Engine.get();
        Node client = engine.running();
        CompletableFuture<HttpResponse<T>> future = new CompletableFuture<>();
        byte[] body = request.bodyPublisher().map(SimulatedHttp::bytes).orElse(new byte[0]);
        if (FAULTS.lossOneIn > 0 && engine.oneIn(FAULTS.lossOneIn)) {
            engine.trail().count("request lost");
            engine.trail().note(engine.elapsed(), client + ": " + operation(request) + " is lost");
            engine.after(engine.between(0, LOST_NANOS), client, () -> future.completeExceptionally(reset()));
            return future;
        }
        engine.after(
                engine.between(30_000, 1_000_000) + lateness(),
                null,
                () -> arrive(request, body, client, answer -> {
                    if (answer == null) {
                        future.completeExceptionally(new ConnectException("Connection refused"));
                    } else if (answer.status() < 0) {
                        future.completeExceptionally(reset());
                    } else {
                        future.complete(response(request, handler, answer));
                    }
                }));
        return future;
    }

    private static long lateness() {
        Engine engine = Engine.get();
        if (FAULTS.lateOneIn == 0 || !engine.oneIn(FAULTS.lateOneIn)) {
            return 0;
        }
        engine.trail().count("request or answer late");
        return engine.between(0, FAULTS.lateNanos);
    }

    private static IOException reset() {
        return new IOException("Connection reset");
    }

    private static String operation(HttpRequest request) {
        return request.method() + " " + request.uri().getPath();
    }

    private static void arrive(HttpRequest request, byte[] body, Node client, java.util.function.Consumer<Answer> to) {
        Engine engine = Engine.get();
        Served served = SERVED.get(request.uri().getHost());
        if (served == null || served.node().isDead() || FAULTS.areRefused(client, served.node())) {
            engine.after(engine.between(30_000, 500_000), client, () -> to.accept(null));
            return;
        }
        boolean[] answered = new boolean[1];
        served.node().onDeath(() -> {
            if (!answered[0]) {
                answered[0] = true;
                engine.after(
                        engine.between(30_000, 500_000),
                        client,
                        () -> to.accept(new Answer(-1, Map.of(), new byte[0])));
            }
        });
        served.node().start("http " + operation(request), () -> {
            ServletExchange exchange = new ServletExchange(request, body, client.address());
            exchange.run(served.servlet());
            if (request.method().equals("GET") && exchange.status() < MULTIPLE_CHOICES) {
                SimulatedElections.answered(served.node());
            }
            if (FAULTS.twiceOneIn > 0 && engine.oneIn(FAULTS.twiceOneIn)) {
                engine.trail().count("request sent twice");
                engine.pause(engine.between(30_000, 50_000_000));
                exchange = new ServletExchange(request, body, client.address());
                exchange.run(served.servlet());
            }
            if (answered[0]) {
                return;
            }
            answered[0] = true;
            Answer answer = new Answer(exchange.status(), exchange.headers(), exchange.body());
            if (FAULTS.lossOneIn > 0 && engine.oneIn(FAULTS.lossOneIn)) {
                engine.trail().count("answer lost");
                engine.trail().note(engine.elapsed(), client + ": the answer of " + operation(request) + " is lost");
                engine.after(
                        engine.between(0, LOST_NANOS), client, () -> to.accept(new Answer(-1, Map.of(), new byte[0])));
                return;
            }
            engine.after(engine.between(30_000, 1_000_000) + lateness(), client, () -> to.accept(answer));
        });
    }

    private static byte[] bytes(HttpRequest.BodyPublisher publisher) {
        java.io.ByteArrayOutputStream all = new java.io.ByteArrayOutputStream();
        publisher.subscribe(new Flow.Subscriber<>() {
            @Override
            public void onSubscribe(Flow.Subscription subscription) {
                subscription.request(Long.MAX_VALUE);
            }

            @Override
            public void onNext(ByteBuffer part) {
                byte[] bytes = new byte[part.remaining()];
                part.get(bytes);
                all.writeBytes(bytes);
            }

            @Override
            public void onError(Throwable e) {
                throw new IllegalStateException(e);
            }

            @Override
            public void onComplete() {}
        });
        return all.toByteArray();
    }

    private static <T> HttpResponse<T> response(
            HttpRequest request, HttpResponse.BodyHandler<T> handler, Answer answer) {
        HttpHeaders headers = HttpHeaders.of(answer.headers(), (_, _) -> true);
        HttpResponse.BodySubscriber<T> subscriber = handler.apply(new HttpResponse.ResponseInfo() {
            @Override
            public int statusCode() {
                return answer.status();
            }

            @Override
            public HttpHeaders headers() {
                return headers;
            }

            @Override
            public Version version() {
                return Version.HTTP_1_1;
            }
        });
        subscriber.onSubscribe(new Flow.Subscription() {
            @Override
            public void request(long n) {}

            @Override
            public void cancel() {}
        });
        if (answer.body().length > 0) {
            subscriber.onNext(List.of(ByteBuffer.wrap(answer.body())));
        }
        subscriber.onComplete();
        T body = subscriber.getBody().toCompletableFuture().join();
        return new HttpResponse<>() {
            @Override
            public int statusCode() {
                return answer.status();
            }

            @Override
            public HttpRequest request() {
                return request;
            }

            @Override
            public Optional<HttpResponse<T>> previousResponse() {
                return Optional.empty();
            }

            @Override
            public HttpHeaders headers() {
                return headers;
            }

            @Override
            public T body() {
                return body;
            }

            @Override
            public Optional<SSLSession> sslSession() {
                return Optional.empty();
            }

            @Override
            public URI uri() {
                return request.uri();
            }

            @Override
            public Version version() {
                return Version.HTTP_1_1;
            }
        };
    }

    @Override
    public <T> HttpResponse<T> send(HttpRequest request, HttpResponse.BodyHandler<T> handler)
            throws IOException, InterruptedException {
        try {
            return sendAsync(request, handler).get();
        } catch (java.util.concurrent.ExecutionException e) {
            if (e.getCause() instanceof IOException io) {
                throw io;
            }
            throw new IOException(e.getCause());
        }
    }

    @Override
    public <T> CompletableFuture<HttpResponse<T>> sendAsync(
            HttpRequest request, HttpResponse.BodyHandler<T> handler, HttpResponse.PushPromiseHandler<T> push) {
        return sendAsync(request, handler);
    }

    @Override
    public Optional<CookieHandler> cookieHandler() {
        return Optional.empty();
    }

    @Override
    public Optional<Duration> connectTimeout() {
        return Optional.empty();
    }

    @Override
    public Redirect followRedirects() {
        return Redirect.NEVER;
    }

    @Override
    public Optional<ProxySelector> proxy() {
        return Optional.empty();
    }

    @Override
    public SSLContext sslContext() {
        throw new UnsupportedOperationException("the simulated network has no TLS");
    }

    @Override
    public SSLParameters sslParameters() {
        throw new UnsupportedOperationException("the simulated network has no TLS");
    }

    @Override
    public Optional<Authenticator> authenticator() {
        return Optional.empty();
    }

    @Override
    public Version version() {
        return Version.HTTP_1_1;
    }

    @Override
    public Optional<Executor> executor() {
        return Optional.empty();
    }

    @Override
    public void shutdownNow() {}

    @Override
    public void close() {}

    private static final class Builder implements HttpClient.Builder {
        @Override
        public HttpClient.Builder cookieHandler(CookieHandler handler) {
            return this;
        }

        @Override
        public HttpClient.Builder connectTimeout(Duration time) {
            return this;
        }

        @Override
        public HttpClient.Builder sslContext(SSLContext context) {
            return this;
        }

        @Override
        public HttpClient.Builder sslParameters(SSLParameters parameters) {
            return this;
        }

        @Override
        public HttpClient.Builder executor(Executor executor) {
            return this;
        }

        @Override
        public HttpClient.Builder followRedirects(Redirect policy) {
            return this;
        }

        @Override
        public HttpClient.Builder version(Version version) {
            return this;
        }

        @Override
        public HttpClient.Builder priority(int priority) {
            return this;
        }

        @Override
        public HttpClient.Builder proxy(ProxySelector selector) {
            return this;
        }

        @Override
        public HttpClient.Builder authenticator(Authenticator authenticator) {
            return this;
        }

        @Override
        public HttpClient build() {
            return new SimulatedHttp();
        }
    }
}
