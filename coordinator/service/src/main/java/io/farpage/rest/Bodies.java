package io.farpage.rest;

import io.javalin.config.JavalinConfig;
import io.javalin.config.Key;
import io.javalin.http.Context;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import org.eclipse.jetty.ee10.servlet.ServletContextRequest;
import org.eclipse.jetty.io.EndPoint;

/**
 * Receives request bodies. A body takes memory only within its route's limit and the service's budget, and for a
 * bounded time.
 */
final class Bodies {
    private static final long TIMEOUT_MILLIS = TimeUnit.SECONDS.toMillis(10);
    private static final long DISCARD_MILLIS = TimeUnit.SECONDS.toMillis(1);
    private static final int DISCARD_BYTES = 16 << 20;
    private static final int STEP = 8 << 10;

    private static final Key<Integer> LIMIT = new Key<>("farpage.bodyLimit");
    private static final Key<BodyBudget> BUDGET = new Key<>("farpage.bodyBudget");

    private Bodies() {}

    /** Sets the longest body that a service takes. */
    static void install(JavalinConfig config, int maxBytes) {
        config.http.maxRequestSize = maxBytes;
        config.appData(LIMIT, maxBytes);
        config.appData(BUDGET, BodyBudget.ofHeap(maxBytes));
    }

    /** The longest body that the service of this request takes. */
    static int limit(Context ctx) {
        return ctx.appData(LIMIT);
    }

    /** What is done with a body while it is in memory. */
    @FunctionalInterface
    interface Use<T> {
        T of(byte[] body);
    }

    /**
     * Receives a body and uses it.
     *
     * @param limit the longest that is taken
     * @throws ProblemException 413 if it is longer, 408 if it takes too long, 503 if the service has no memory for it
     *     now
     */
    static <T> T receive(Context ctx, int limit, Use<T> use) throws IOException {
        long declared = ctx.req().getContentLengthLong();
        if (declared > limit) {
            throw tooLong(limit);
        }
        // A body of undeclared length (chunked) may grow up to the limit.
        int most = declared >= 0 ? (int) declared : limit;
        try (BodyBudget.Reservation _ = ctx.appData(BUDGET).reserve(most)) {
            return use.of(read(ctx, most, limit));
        }
    }

    /** Receives a body of exactly {@code length} bytes and uses it. */
    static void receiveBytes(Context ctx, int length, Requests.BytesUse use) throws Exception {
        long declared = ctx.req().getContentLengthLong();
        if (declared >= 0 && declared != length) {
            throw ProblemException.invalid("the body has %d bytes; %d are asked for".formatted(declared, length));
        }
        try (BodyBudget.Reservation _ = ctx.appData(BUDGET).reserve(length)) {
            byte[] body = read(ctx, length, length);
            if (body.length != length) {
                throw ProblemException.invalid(
                        "the body has %d bytes; %d are asked for".formatted(body.length, length));
            }
            use.of(body);
        }
    }

    /** A body of any length, to be read as it comes. */
    static InputStream stream(Context ctx) throws IOException {
        EndPoint connection = connection(ctx);
        return new PacedBody(
                ctx.req().getInputStream(), connection::setIdleTimeout, connection.getIdleTimeout(), System::nanoTime);
    }

    private static byte[] read(Context ctx, int most, int limit) throws IOException {
        EndPoint connection = connection(ctx);
        long idleTimeout = connection.getIdleTimeout();
        long start = System.nanoTime();
        byte[] body = new byte[Math.min(most, STEP)];
        int length = 0;
        connection.setIdleTimeout(TIMEOUT_MILLIS);
        try {
            InputStream in = ctx.req().getInputStream();
            while (true) {
                if (length == body.length) {
                    if (length == most) {
                        if (in.read() < 0) {
                            return body;
                        }
                        throw tooLong(limit);
                    }
                    body = Arrays.copyOf(body, (int) Math.min(most, 2L * body.length));
                }
                int part = in.read(body, length, body.length - length);
                if (part < 0) {
                    return Arrays.copyOf(body, length);
                }
                length += part;
                if (millisSince(start) > TIMEOUT_MILLIS) {
                    throw tooSlow(length);
                }
            }
        } catch (IOException e) {
            if (millisSince(start) >= TIMEOUT_MILLIS) {
                throw tooSlow(length);
            }
            throw new ProblemException(400, "incomplete", "the body broke off after %d bytes".formatted(length));
        } finally {
            connection.setIdleTimeout(idleTimeout);
        }
    }

    /**
     * Reads what a client still sends of a body that is not wanted, for a second at most: a connection that is closed
     * while bytes come in is reset, and the client may not see the answer. The connection of a request without a body
     * keeps its idle timeout: it may have been idle for longer than a second while the request was served.
     */
    static void discard(Context ctx) {
        if (ctx.req().getContentLengthLong() <= 0 && ctx.req().getHeader("Transfer-Encoding") == null) {
            return;
        }
        EndPoint connection = connection(ctx);
        long idleTimeout = connection.getIdleTimeout();
        long start = System.nanoTime();
        byte[] scratch = new byte[STEP];
        connection.setIdleTimeout(DISCARD_MILLIS);
        try {
            InputStream in = ctx.req().getInputStream();
            long discarded = 0;
            int part = 0;
            while (part >= 0 && discarded < DISCARD_BYTES && millisSince(start) < DISCARD_MILLIS) {
                part = in.read(scratch);
                discarded += Math.max(0, part);
            }
        } catch (IOException e) {
            // The client has gone, or is slow: the answer is sent all the same.
        } finally {
            connection.setIdleTimeout(idleTimeout);
        }
    }

    private static EndPoint connection(Context ctx) {
        return ServletContextRequest.getServletContextRequest(ctx.req())
                .getConnectionMetaData()
                .getConnection()
                .getEndPoint();
    }

    private static long millisSince(long start) {
        return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start);
    }

    private static ProblemException tooLong(int limit) {
        return new ProblemException(413, "too-large", "the body is longer than the limit of " + limit + " bytes");
    }

    private static ProblemException tooSlow(int length) {
        return new ProblemException(
                408,
                "too-slow",
                "the body was not complete after %d s; %d bytes had come"
                        .formatted(TimeUnit.MILLISECONDS.toSeconds(TIMEOUT_MILLIS), length));
    }
}
