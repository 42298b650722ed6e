package io.farpage.rest;

import io.farpage.config.HostPort;
import io.javalin.Javalin;
import io.javalin.config.JavalinConfig;
import io.javalin.config.Key;
import io.javalin.http.Context;
import io.javalin.http.Handler;
import io.javalin.router.Endpoint;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * A running HTTP service: its routes, and {@code /health}, {@code /metrics}, {@code /openapi.json}. Requests run on virtual threads.
 * Closing stops listening, answers what is under way, and breaks off no connection whose client was told that it may be used again.
 */
public final class RestServer implements AutoCloseable {

    private static final Key<Integer> BODY_LIMIT = new Key<>("farpage.bodyLimit");
    private static final Key<BodyBudget> BODY_BUDGET = new Key<>("farpage.bodyBudget");

    private final Options options;
    private final Javalin app;
    private final Drain drain;
    private final int port;

    /**
     * What a service is and where it listens.
     *
     * @param service its name
     * @param version its version
     * @param entrance the address, the certificates and the identities that the service admits
     * @param maxBodyBytes longest request body, 1..2³⁰
     * @param mayAccept whether the process has descriptors for one more connection; while it has not, connections wait to be accepted
     */
    public record Options(
            String service, String version, Entrance entrance, int maxBodyBytes, BooleanSupplier mayAccept) {
        /** Options of a service that accepts connections without asking. */
        public Options(String service, String version, Entrance entrance, int maxBodyBytes) {
            this(service, version, entrance, maxBodyBytes, () -> true);
        }

        HostPort listen() {
            return entrance.listen();
        }
    }

    /**
     * What is done around every request.
     *
     * @param before the route's handler; may refuse the request by throwing a {@link ProblemException}
     * @param after the handler or the refusal; sees the answer before it is sent
     */
    public record Around(Handler before, Handler after) {
        /** Does nothing. */
        public static final Around NOTHING = new Around(ctx -> {}, ctx -> {});
    }

    private RestServer(Options options, Javalin app, Drain drain) {
        this.options = options;
        this.app = app;
        this.drain = drain;
        this.port = connector(app).getLocalPort();
    }

    private static ServerConnector connector(Javalin app) {
        return (ServerConnector) app.jettyServer().server().getConnectors()[0];
    }

    /**
     * Starts a service.
     *
     * @param health asked at each {@code GET /health}
     * @throws ListenException if it cannot listen where it should
     */
    public static RestServer start(Options options, List<Route> routes, Metrics metrics, Supplier<Health> health) {
        return start(options, routes, metrics, health, Around.NOTHING);
    }

    /**
     * Starts a service with something around every request.
     *
     * @throws ListenException if it cannot listen where it should
     */
    public static RestServer start(
            Options options, List<Route> routes, Metrics metrics, Supplier<Health> health, Around around) {
        List<Route> all = new ArrayList<>(routes);
        all.addAll(common(metrics, health));
        JsonNode document = OpenApi.document(options.service(), options.version(), all);
        all.add(Route.getText("/openapi.json", "This document", "application/json", ctx -> ctx.json(document)));
        Drain drain = new Drain();
        AccessControl control = options.entrance().control();
        Javalin app = Javalin.create(config -> {
            configure(config, options, all, metrics);
            config.routes.before(drain::announce);
            config.routes.before(control::authenticate);
            config.routes.before(around.before());
            config.routes.after(around.after());
        });
        HostPort listen = options.listen();
        try {
            app.start();
        } catch (RuntimeException e) {
            app.stop();
            throw new ListenException(listen, reason(e), e);
        }
        return new RestServer(options, app, drain);
    }

    private static void configure(JavalinConfig config, Options options, List<Route> routes, Metrics metrics) {
        config.concurrency.useVirtualThreads = true;
        config.startup.showJavalinBanner = false;
        config.startup.showOldJavalinVersionWarning = false;
        config.startup.startupWatcherEnabled = false;
        config.http.prefer405over404 = true;
        config.http.maxRequestSize = options.maxBodyBytes();
        config.appData(BODY_LIMIT, options.maxBodyBytes());
        config.appData(BODY_BUDGET, BodyBudget.ofHeap(options.maxBodyBytes()));
        config.jsonMapper(new JacksonJsonMapper());
        config.jetty.addConnector((server, http) -> new PatientConnector(server, http, options));
        config.jetty.modifyServer(RestServer::configureJetty);
        config.jetty.modifyHttpConfiguration(http -> http.setSendServerVersion(false));
        config.requestLogger.http((ctx, millis) -> metrics.count(ctx.method().name(), route(ctx), ctx.statusCode()));
        ErrorPages.install(config.routes, options.entrance().control());
        AccessControl control = options.entrance().control();
        for (Route route : routes) {
            config.routes.addHttpHandler(route.method(), route.path(), ctx -> {
                control.authorize(ctx, route);
                Requests.requireJson(ctx, route);
                ctx.status(route.status());
                route.handler().handle(ctx);
            });
        }
    }

    private static void configureJetty(Server server) {
        server.setErrorHandler(new ErrorPages.Jetty());
        server.setStopTimeout(2_000);
        Connections.limit(server);
    }

    private static List<Route> common(Metrics metrics, Supplier<Health> health) {
        return List.of(
                Route.get("/health", "Whether the service can do its work", Health.class, ctx -> {
                    Health now = health.get();
                    boolean known = AccessControl.identity(ctx).isKnown();
                    ctx.status(now.healthy() ? 200 : 503).json(known ? now : now.withoutDetails());
                }),
                Route.getText(
                        "/metrics",
                        "Metrics in Prometheus' text format",
                        "text/plain",
                        ctx -> ctx.result(metrics.scrape()).contentType(metrics.contentType())));
    }

    private static String route(Context ctx) {
        @Nullable Endpoint endpoint = ctx.endpoints().lastHttpEndpoint();
        return endpoint == null || !endpoint.method.isHttpMethod() ? "none" : endpoint.path;
    }

    private static String reason(Throwable e) {
        // The innermost is the kernel's; Javalin calls every failure to bind a port in use.
        Deque<Throwable> causes = new ArrayDeque<>();
        for (Throwable cause = e; cause != null; cause = cause.getCause()) {
            causes.push(cause);
        }
        for (Throwable cause : causes) {
            String text = Optional.ofNullable(cause.getMessage()).orElse("");
            if (text.contains("in use") || text.contains("Port already")) {
                return "the port is taken; stop what listens there or choose another port";
            }
            if (text.contains("ermission denied")) {
                return "permission denied; choose a port above 1023";
            }
            if (cause instanceof java.nio.channels.UnresolvedAddressException) {
                return "no such host; give an address of this machine";
            }
            if (text.contains("assign requested address")) {
                return "this machine has no such address; give one of its own or 0.0.0.0";
            }
        }
        return Optional.ofNullable(e.getMessage()).orElse(e.toString());
    }

    static int bodyLimit(Context ctx) {
        return ctx.appData(BODY_LIMIT);
    }

    static BodyBudget bodyBudget(Context ctx) {
        return ctx.appData(BODY_BUDGET);
    }

    /** Where it listens, with the port that the system chose. */
    public HostPort listening() {
        return new HostPort(options.listen().host(), port());
    }

    /** Its URL, for a client on this machine. */
    public String url() {
        return options.entrance().scheme() + "://" + listening();
    }

    /** The port it listens on. */
    public int port() {
        return port;
    }

    /** What is registered, as {@code METHOD path}: for tests that compare it with what is documented. */
    public List<String> registered() {
        return app.unsafe.internalRouter.allHttpHandlers().stream()
                .filter(parsed -> parsed.endpoint.method.isHttpMethod())
                .map(parsed -> parsed.endpoint.method.name() + " " + parsed.endpoint.path)
                .sorted()
                .toList();
    }

    @Override
    public void close() {
        drain.run(connector(app));
        app.stop();
    }
}
