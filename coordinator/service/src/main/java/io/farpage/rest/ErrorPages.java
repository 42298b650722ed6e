package io.farpage.rest;

import io.javalin.config.RoutesConfig;
import io.javalin.http.Context;
import io.javalin.http.HttpResponseException;
import io.javalin.http.MethodNotAllowedResponse;
import java.nio.ByteBuffer;
import java.util.UUID;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.http.HttpStatus;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.handler.ErrorHandler;
import org.eclipse.jetty.util.Callback;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Turns every failure into a problem document, whether our code, Javalin or Jetty found it. */
final class ErrorPages {

    private static final Logger LOG = LoggerFactory.getLogger(ErrorPages.class);

    private ErrorPages() {}

    static void install(RoutesConfig routes, AccessControl control) {
        routes.exception(ProblemException.class, (e, ctx) -> {
            e.retryAfterSeconds().ifPresent(seconds -> ctx.header("Retry-After", Integer.toString(seconds)));
            answer(ctx, e.problem(ctx.path()), control);
        });
        routes.exception(HttpResponseException.class, (e, ctx) -> answer(ctx, unrouted(e, ctx, control), control));
        routes.exception(Exception.class, (e, ctx) -> answer(ctx, other(e, ctx), control));
    }

    private static void answer(Context ctx, Problem problem, AccessControl control) {
        control.answeredWith(ctx, problem);
        RequestAudit.answeredWith(ctx, problem);
        Bodies.discard(ctx);
        ctx.status(problem.status())
                .result(Json.STRICT.writeValueAsBytes(problem))
                .contentType(Problem.MEDIA_TYPE);
    }

    private static Problem other(Exception e, Context ctx) {
        return e instanceof Unavailable unavailable
                ? new ProblemException(503, unavailable.word(), unavailable.detail()).problem(ctx.path())
                : unexpected(e, ctx.method() + " " + ctx.path(), ctx.path());
    }

    /** What Javalin found: no such route, or another method. A stranger is not told which. */
    private static Problem unrouted(HttpResponseException e, Context ctx, AccessControl control) {
        try {
            control.refuseUnrouted(ctx);
        } catch (ProblemException refused) {
            return refused.problem(ctx.path());
        }
        return plain(e, ctx);
    }

    private static Problem plain(HttpResponseException e, Context ctx) {
        String path = ctx.path();
        return switch (e) {
            case MethodNotAllowedResponse notAllowed -> {
                String allowed = notAllowed.getDetails().getOrDefault("availableMethods", "");
                ctx.header("Allow", allowed);
                yield new ProblemException(
                                405,
                                "method-not-allowed",
                                "%s is not possible on %s; allowed: %s".formatted(ctx.method(), path, allowed))
                        .problem(path);
            }
            case HttpResponseException other
            when other.getStatus() == 404 ->
                ProblemException.notFound("there is nothing at " + path + "; /openapi.json lists what there is")
                        .problem(path);
            default -> byStatus(e.getStatus(), e.getMessage() == null ? "" : e.getMessage(), path);
        };
    }

    private static Problem byStatus(int status, String detail, String path) {
        return new Problem("about:blank", HttpStatus.getMessage(status), status, detail, path);
    }

    /** The stack trace goes to the log under an id, and only the id to the caller. */
    static Problem unexpected(Throwable e, String request, String path) {
        String id = UUID.randomUUID().toString();
        LOG.error("{} failed unexpectedly, id {}", request, id, e);
        return new ProblemException(
                        500, "internal-error", "an unexpected error occurred; the log has it under id " + id)
                .problem(path);
    }

    /** What Jetty refuses before Javalin sees it, such as a malformed URI or headers that are too long. */
    static final class Jetty extends ErrorHandler {
        private final AccessControl control;

        Jetty(AccessControl control) {
            this.control = control;
        }

        @Override
        public boolean handle(Request request, Response response, Callback callback) {
            int status = response.getStatus() < 400 ? 500 : response.getStatus();
            Object message = request.getAttribute(ERROR_MESSAGE);
            Problem problem = byStatus(
                    status, message == null ? HttpStatus.getMessage(status) : message.toString(), pathOf(request));
            if (status < 500) {
                control.unreadable(
                        Connections.address(
                                request.getConnectionMetaData().getConnection().getEndPoint()),
                        status,
                        problem.detail());
            }
            response.setStatus(status);
            response.getHeaders().put(HttpHeader.CONTENT_TYPE, Problem.MEDIA_TYPE);
            response.write(true, ByteBuffer.wrap(Json.STRICT.writeValueAsBytes(problem)), callback);
            return true;
        }

        private static String pathOf(Request request) {
            String path =
                    request.getHttpURI() == null ? null : request.getHttpURI().getPath();
            return path == null ? "" : path;
        }
    }
}
