package io.farpage.rest;

import io.javalin.http.Context;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.core.exc.InputCoercionException;
import tools.jackson.core.exc.StreamReadException;
import tools.jackson.databind.DatabindException;
import tools.jackson.databind.exc.InvalidFormatException;
import tools.jackson.databind.exc.MismatchedInputException;
import tools.jackson.databind.exc.UnrecognizedPropertyException;

/** Reads what a request carries; whatever is wrong becomes a problem that names the field or parameter. */
public final class Requests {

    /** How Jackson says that a required property is absent or null. */
    private static final Pattern MISSING =
            Pattern.compile("^(?:Missing required|Missing|Null value for) creator property '([^']+)'");

    /** What Jackson adds about the source, which it does not know. */
    private static final Pattern SOURCE = Pattern.compile(" ?\\(start marker at .*|\\(for .* starting at .*");

    private static final Pattern JSON =
            Pattern.compile("application/([a-z0-9.+-]+\\+)?json\\b.*", Pattern.CASE_INSENSITIVE);

    private Requests() {}

    /**
     * The request's JSON.
     *
     * @throws ProblemException 400 if it is not what is asked for, 413 if it is too long, 415 if it says that it is
     *     something else
     */
    public static <B> B body(Context ctx, Operation<B, ?> operation) throws IOException {
        return body(ctx, operation, Bodies.limit(ctx));
    }

    /**
     * As {@link #body(Context, Operation)}, for a request that is never long.
     *
     * @param maxBytes the longest body; the service's limit applies too
     */
    public static <B> B body(Context ctx, Operation<B, ?> operation, int maxBytes) throws IOException {
        Class<B> type = operation.body().orElseThrow();
        return Bodies.receive(ctx, Math.min(maxBytes, Bodies.limit(ctx)), bytes -> parse(bytes, type));
    }

    /**
     * Refuses a request whose JSON body is not declared as such: a web page of another origin can send the other types
     * without asking first.
     *
     * @throws ProblemException 415
     */
    static void requireJson(Context ctx, Operation<?, ?> operation) {
        if (operation.body().isEmpty()) {
            return;
        }
        @Nullable String contentType = ctx.contentType();
        if (contentType == null) {
            throw new ProblemException(
                    415, "unsupported-media-type", "the Content-Type is missing; it must be application/json");
        }
        if (!JSON.matcher(contentType).matches()) {
            throw new ProblemException(
                    415, "unsupported-media-type", "content type '" + contentType + "' is not application/json");
        }
    }

    /** What is done with the bytes of a body. */
    @FunctionalInterface
    public interface BytesUse {
        /** Uses them. */
        void of(byte[] bytes) throws Exception;
    }

    /**
     * The request's body as bytes, in memory until {@code use} returns.
     *
     * @param length that it must have
     * @throws ProblemException 400 if it has another length, 408 if it takes too long, 503 if the service has no memory
     *     for it now
     */
    public static void bytes(Context ctx, int length, BytesUse use) throws Exception {
        Bodies.receiveBytes(ctx, length, use);
    }

    /**
     * The request's body, of any length, as it comes. A read fails with status 408 when the client sends less than 1
     * KiB a second.
     *
     * @throws IOException if it cannot be read
     */
    public static InputStream stream(Context ctx) throws IOException {
        return Bodies.stream(ctx);
    }

    private static <T> T parse(byte[] bytes, Class<T> type) {
        if (bytes.length == 0) {
            throw ProblemException.invalid("the body is empty; it must be a JSON object");
        }
        try {
            T value = Json.STRICT.readValue(bytes, type);
            if (value == null) {
                throw ProblemException.invalid("the body is null; it must be a JSON object");
            }
            return value;
        } catch (InputCoercionException e) {
            String where = path(e.getPath());
            throw ProblemException.invalid(
                    "%s: %s".formatted(where.isEmpty() ? "a number" : where, firstLine(e.getOriginalMessage())));
        } catch (StreamReadException e) {
            throw ProblemException.invalid("the body is not JSON: %s (line %d, column %d)"
                    .formatted(
                            firstLine(e.getOriginalMessage()),
                            e.getLocation().getLineNr(),
                            e.getLocation().getColumnNr()));
        } catch (DatabindException e) {
            throw ProblemException.invalid(fault(e));
        } catch (JacksonException e) {
            throw ProblemException.invalid("the body cannot be read: " + firstLine(e.getOriginalMessage()));
        }
    }

    private static String fault(DatabindException e) {
        String where = path(e.getPath());
        @Nullable Throwable cause = e.getCause();
        if (cause instanceof IllegalArgumentException && cause.getMessage() != null) {
            return where.isEmpty() ? cause.getMessage() : where + ": " + cause.getMessage();
        }
        String field = where.isEmpty() ? "the body" : where;
        String message = firstLine(e.getOriginalMessage());
        Matcher missing = MISSING.matcher(message);
        if (missing.find()) {
            String name = missing.group(1);
            return (where.isEmpty() || where.equals(name) || where.endsWith("." + name)
                            ? field(where, name)
                            : where + "." + name)
                    + " is missing";
        }
        if (cause instanceof NullPointerException) {
            return field + " must not hold a null";
        }
        if (message.startsWith("Trailing")) {
            return "the body goes on after its end";
        }
        return switch (e) {
            case UnrecognizedPropertyException unknown ->
                field + " is not a field of this request; known are "
                        + Optional.ofNullable(unknown.getKnownPropertyIds()).orElse(List.of()).stream()
                                .map(Object::toString)
                                .sorted()
                                .collect(Collectors.joining(", "));
            case InvalidFormatException wrong ->
                "%s: '%s' is not %s".formatted(field, wrong.getValue(), kind(wrong.getTargetType()));
            case MismatchedInputException mismatch -> "%s must be %s".formatted(field, kind(mismatch.getTargetType()));
            default -> field + ": " + message;
        };
    }

    private static String field(String where, String name) {
        return where.isEmpty() ? name : where;
    }

    private static String kind(@Nullable Class<?> type) {
        if (type == null) {
            return "of the right type";
        }
        if (type.isEnum()) {
            return "one of "
                    + Json.STRICT
                            .valueToTree(type.getEnumConstants())
                            .valueStream()
                            .map(constant -> constant.asString())
                            .filter(constant -> !constant.equals("unknown"))
                            .collect(Collectors.joining(", "));
        }
        if (type == int.class || type == long.class || type == Integer.class || type == Long.class) {
            return type == int.class || type == Integer.class
                    ? "a whole number of 32 bits"
                    : "a whole number of 64 bits";
        }
        if (type == boolean.class || type == Boolean.class) {
            return "true or false";
        }
        if (List.class.isAssignableFrom(type)) {
            return "an array";
        }
        return type.isRecord() && type.getRecordComponents().length > 1 ? "an object" : "a text of the right form";
    }

    private static String path(List<JacksonException.Reference> references) {
        StringBuilder path = new StringBuilder();
        for (JacksonException.Reference reference : references) {
            if (reference.getPropertyName() != null) {
                path.append(path.isEmpty() ? "" : ".").append(reference.getPropertyName());
            } else if (reference.getIndex() >= 0) {
                path.append('[').append(reference.getIndex()).append(']');
            }
        }
        return path.toString();
    }

    private static String firstLine(String message) {
        return SOURCE.matcher(message.lines().findFirst().orElse("unreadable")).replaceAll("");
    }

    /** A query parameter that must be there. */
    public static String query(Context ctx, String name) {
        @Nullable String value = ctx.queryParam(name);
        if (value == null || value.isBlank()) {
            throw ProblemException.invalid("query parameter '" + name + "' is missing");
        }
        return value;
    }

    /** A query parameter that may be left out. */
    public static Optional<String> optionalQuery(Context ctx, String name) {
        return Optional.ofNullable(ctx.queryParam(name)).filter(value -> !value.isBlank());
    }

    /** A query parameter that is true or false; false if it is left out. */
    public static boolean flag(Context ctx, String name) {
        String text = optionalQuery(ctx, name).orElse("false");
        return switch (text) {
            case "true" -> true;
            case "false" -> false;
            default -> throw ProblemException.invalid("%s: '%s' is neither true nor false".formatted(name, text));
        };
    }

    /** A whole number from a query parameter or path. */
    public static long number(String name, String text, long min, long max) {
        long value;
        try {
            value = Long.parseLong(text);
        } catch (NumberFormatException e) {
            throw ProblemException.invalid("%s: '%s' is not a whole number".formatted(name, text));
        }
        if (value < min || value > max) {
            throw ProblemException.invalid("%s: %d is not in %d..%d".formatted(name, value, min, max));
        }
        return value;
    }

    /** Reads a parameter with a parser that throws {@link IllegalArgumentException} for what it cannot read. */
    public static <T> T parameter(String name, String text, Function<String, T> parser) {
        try {
            return parser.apply(text);
        } catch (IllegalArgumentException e) {
            String message = e.getMessage() == null ? "" : e.getMessage();
            throw ProblemException.invalid(
                    message.startsWith(name + ":") ? message : "%s: '%s': %s".formatted(name, text, message));
        }
    }
}
