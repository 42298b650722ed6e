package io.farpage.rest;

import io.farpage.trace.ActiveSpan;
import io.farpage.trace.Span;
import io.farpage.trace.TraceContext;
import io.farpage.trace.Tracer;
import io.javalin.http.Context;
import io.javalin.http.Handler;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The spans of requests that a service answers, named and described as OpenTelemetry's conventions for HTTP servers
 * want it.
 */
final class TracedRequests {
    private static final String SPAN = "farpage.span";
    private static final int SERVER_ERROR = 500;

    private TracedRequests() {}

    /**
     * Begins the span of a request, if this process is traced. A request without a valid {@code traceparent} begins a
     * trace; a look at metrics or health does not.
     */
    static void begin(Context ctx) {
        Tracer tracer = Tracer.current();
        if (tracer == null) {
            return;
        }
        String method = ctx.method().name();
        Optional<TraceContext> caller =
                Optional.ofNullable(ctx.header(TraceContext.HEADER)).flatMap(TraceContext::parse);
        Optional<ActiveSpan> span;
        if (caller.isPresent()) {
            span = tracer.below(caller.get(), method, Span.Kind.SERVER);
        } else {
            span = ctx.path().startsWith("/api/") ? tracer.start(method, Span.Kind.SERVER) : Optional.empty();
        }
        span.ifPresent(active -> ctx.attribute(SPAN, active));
    }

    private static @Nullable ActiveSpan span(Context ctx) {
        return ctx.attribute(SPAN);
    }

    /** Handles a request as a part of its span. */
    static void handle(Context ctx, Handler handler) throws Exception {
        ActiveSpan span = span(ctx);
        if (span == null) {
            handler.handle(ctx);
            return;
        }
        Boolean _ = Tracer.within(span.context(), () -> {
            handler.handle(ctx);
            return true;
        });
    }

    /** Ends the span, after the answer. */
    static void end(Context ctx, Optional<String> route) {
        ActiveSpan span = span(ctx);
        if (span == null) {
            return;
        }
        route.ifPresent(path -> {
            span.rename(ctx.method().name() + " " + path);
            span.attribute("http.route", path);
        });
        span.attribute("http.request.method", ctx.method().name());
        span.attribute("url.path", ctx.path());
        span.attribute("http.response.status_code", (long) ctx.statusCode());
        if (ctx.statusCode() >= SERVER_ERROR) {
            span.fail("status " + ctx.statusCode());
        }
        span.end();
    }
}
