package io.farpage.rest;

import io.farpage.access.Access;
import io.farpage.access.Role;
import io.farpage.config.HostPort;
import io.farpage.log.LogOutput;
import io.javalin.Javalin;
import io.javalin.config.JavalinConfig;
import io.javalin.http.Context;
import io.javalin.http.Handler;
import io.javalin.http.HandlerType;
import io.javalin.router.Endpoint;
import io.javalin.util.JavalinException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.eclipse.jetty.server.Connector;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.thread.QueuedThreadPool;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A running HTTP service: its routes, and {@code /health}, {@code /metrics}, {@code /log}, {@code /openapi.json}.
 * Requests run on virtual threads. Closing stops listening, answers what is under way, and breaks off no connection
 * whose client was told that it may be used again.
 */
public final class RestServer implements AutoCloseable {
    private static final Access METRICS_READERS = Access.role(Role.METRICS).or(Access.servedNode());
    private static final Access LOG_READERS = Access.role(Role.VIEWER).or(Access.ownNode());
    private static final Access LOG_WRITERS = Access.role(Role.OPERATOR).or(Access.ownNode());

    /** Has details only for an identity. */
    private static final Operation<Void, Health> HEALTH =
            Operation.get("/health", Access.anyone(), Health.class).summary("Whether the service can do its work");

    private static final Operation<Void, Void> METRICS =
            Operation.getText("/metrics", METRICS_READERS, "text/plain").summary("Metrics in Prometheus' text format");
    private static final Operation<Void, Void> OPENAPI = Operation.getText(
                    "/openapi.json", METRICS_READERS, "application/json")
            .summary("This document");
    private static final Operation<Void, LogSetting> LOG_LEVEL =
            Operation.get("/log", LOG_READERS, LogSetting.class).summary("From which level on the service logs");
    private static final Operation<LogSetting, LogSetting> SET_LOG_LEVEL = Operation.put(
                    "/log", LOG_WRITERS, "log.level")
            .json(LogSetting.class, LogSetting.class)
            .summary("Change that until the service is started again");

    private static final Logger LOG = LoggerFactory.getLogger(RestServer.class);
    private static final long STOP_MILLIS = 2_000;

    private final Options options;
    private final Javalin app;
    private final List<Operation<?, ?>> operations;
    private final Drain drain;
    private final Optional<Integer> port;

    /**
     * What a service is and where it listens.
     *
     * @param service its name
     * @param version its version
     * @param entrance the address, the certificates and the identities that the service admits
     * @param maxBodyBytes longest request body, 1..2³⁰
     * @param mayAccept whether the process has descriptors for one more connection; while it has not, connections wait
     *     to be accepted
     */
    public record Options(
            String service, String version, Entrance entrance, int maxBodyBytes, BooleanSupplier mayAccept) {
        /** Where it listens, for messages. */
        String place() {
            return entrance.tcp()
                    .map(HostPort::toString)
                    .or(() -> entrance.socket().map(Path::toString))
                    .orElseThrow();
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

    private RestServer(Options options, Javalin app, List<Operation<?, ?>> operations, Drain drain) {
        this.options = options;
        this.app = app;
        this.operations = operations;
        this.drain = drain;
        this.port = connectors(app).stream()
                .filter(ServerConnector.class::isInstance)
                .map(connector -> ((ServerConnector) connector).getLocalPort())
                .findFirst();
    }

    private static List<Connector> connectors(Javalin app) {
        return List.of(app.jettyServer().server().getConnectors());
    }

    /**
     * Starts a service with something around every request.
     *
     * @param health asked at each {@code GET /health}
     * @throws ListenException if it cannot listen where it should
     */
    public static RestServer start(
            Options options, List<Route> routes, Metrics metrics, Supplier<Health> health, Around around) {
        List<Route> all = new ArrayList<>(routes);
        all.addAll(common(metrics, health));
        OpenApiDocument document = new OpenApiDocument(options.service(), options.version(), operations(all));
        all.add(new Route(OPENAPI, ctx -> ctx.json(document.get())));
        Drain drain = new Drain();
        AccessControl control = options.entrance().control();
        control.limits().ifPresent(metrics::watch);
        control.audit().map(RequestAudit::audit).ifPresent(metrics::watch);
        Javalin app = Javalin.create(config -> {
            configure(config, options, all, metrics);
            config.routes.before(TracedRequests::begin);
            config.routes.before(drain::announce);
            config.routes.before(control::authenticate);
            config.routes.before(around.before());
            config.routes.after(around.after());
            config.routes.after(control::confirm);
        });
        try {
            app.start();
        } catch (RuntimeException e) {
            app.stop();
            throw new ListenException(options.place(), reason(e), e);
        }
        return new RestServer(options, app, operations(all), drain);
    }

    private static List<Operation<?, ?>> operations(List<Route> routes) {
        return routes.stream().<Operation<?, ?>>map(Route::operation).toList();
    }

    private static void configure(JavalinConfig config, Options options, List<Route> routes, Metrics metrics) {
        config.concurrency.useVirtualThreads = true;
        config.startup.showJavalinBanner = false;
        config.startup.showOldJavalinVersionWarning = false;
        config.startup.startupWatcherEnabled = false;
        config.http.prefer405over404 = true;
        Bodies.install(config, options.maxBodyBytes());
        config.jsonMapper(new JacksonJsonMapper());
        Entrance entrance = options.entrance();
        AccessControl control = entrance.control();
        entrance.tcp()
                .ifPresent(listen -> config.jetty.addConnector((server, http) -> Connections.limited(
                        server, new PatientConnector(server, http, listen, entrance, options.mayAccept()), control)));
        entrance.socket()
                .ifPresent(path -> config.jetty.addConnector(
                        (server, http) -> new SocketConnector(server, http, path, control, options.mayAccept())));
        config.jetty.modifyServer(server -> configureJetty(server, control));
        config.jetty.modifyHttpConfiguration(http -> http.setSendServerVersion(false));
        ErrorPages.install(config.routes, control);
        Map<String, Operation<?, ?>> operations = new HashMap<>();
        for (Route route : routes) {
            Operation<?, ?> operation = route.operation();
            operations.put(operation.name(), operation);
            config.routes.addHttpHandler(
                    HandlerType.findOrCreate(operation.method().name()), operation.path(), ctx -> {
                        control.authorize(ctx, operation);
                        Requests.requireJson(ctx, operation);
                        ctx.status(operation.status());
                        TracedRequests.handle(ctx, route.handler());
                    });
        }
        config.requestLogger.http((ctx, millis) -> {
            Optional<Endpoint> endpoint = endpoint(ctx);
            Optional<String> path = endpoint.map(one -> one.path);
            metrics.count(ctx.method().name(), path.orElse("none"), ctx.statusCode());
            Optional<Operation<?, ?>> operation =
                    endpoint.map(one -> operations.get(one.method.name() + " " + one.path));
            control.audit().ifPresent(audit -> audit.end(ctx, operation));
            TracedRequests.end(ctx, path);
        });
    }

    private static void configureJetty(Server server, AccessControl control) {
        server.setErrorHandler(new ErrorPages.Jetty(control));
        server.setStopTimeout(STOP_MILLIS);
        new SlowRequests(control).watch(server);
    }

    private static List<Route> common(Metrics metrics, Supplier<Health> health) {
        return List.of(
                Route.answering(HEALTH, ctx -> {
                    Health now = health.get();
                    ctx.status(now.healthy() ? 200 : 503);
                    return AccessControl.identity(ctx).isKnown() ? now : now.withoutDetails();
                }),
                new Route(METRICS, ctx -> ctx.result(metrics.scrape()).contentType(metrics.contentType())),
                Route.answering(LOG_LEVEL, ctx -> new LogSetting(LogOutput.level())),
                Route.answering(SET_LOG_LEVEL, RestServer::setLog));
    }

    private static LogSetting setLog(Context ctx) throws IOException {
        LogSetting wanted = Requests.body(ctx, SET_LOG_LEVEL);
        LogOutput.level(wanted.level());
        return wanted;
    }

    private static Optional<Endpoint> endpoint(Context ctx) {
        return Optional.ofNullable(ctx.endpoints().lastHttpEndpoint()).filter(one -> one.method.isHttpMethod());
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

    /** Its TCP address, with the port that the system chose; empty if it listens on a Unix socket only. */
    public Optional<HostPort> address() {
        return options.entrance().tcp().map(listen -> new HostPort(listen.host(), port.orElseThrow()));
    }

    /**
     * As {@link #address}, of a service that has one.
     *
     * @throws java.util.NoSuchElementException if it listens on a Unix socket only
     */
    public HostPort listening() {
        return address().orElseThrow();
    }

    /** Its URL, for a client on this machine; it must have a TCP address. */
    public String url() {
        return options.entrance().scheme() + "://" + listening();
    }

    /** The port of its TCP address, which it must have. */
    public int port() {
        return listening().port();
    }

    /** What it serves. */
    public List<Operation<?, ?>> operations() {
        return operations;
    }

    /** What is registered, as {@code METHOD path}: for tests that compare it with what is documented. */
    public List<String> registered() {
        return app.unsafe.internalRouter.allHttpHandlers().stream()
                .filter(parsed -> parsed.endpoint.method.isHttpMethod())
                .map(parsed -> parsed.endpoint.method.name() + " " + parsed.endpoint.path)
                .sorted()
                .toList();
    }

    /** Ends it at once, and cuts what is open: for a service whose answers are refusals that change nothing. */
    public void cut() {
        Server server = app.jettyServer().server();
        server.setStopTimeout(0);
        if (server.getThreadPool() instanceof QueuedThreadPool threads) {
            threads.setStopTimeout(0);
        }
        stop();
    }

    /** Requests under way have two seconds; then their connections are cut. */
    @Override
    public void close() {
        drain.run(connectors(app));
        stop();
    }

    private void stop() {
        try {
            app.stop();
        } catch (JavalinException e) {
            // Jetty stops all the same, and tells that it had to cut connections.
            if (!(e.getCause() instanceof TimeoutException)) {
                throw e;
            }
            LOG.info("connections that were still open {} ms after the end began were cut", STOP_MILLIS);
        }
    }
}
