package io.farpage.rest;

import java.util.Locale;
import java.util.OptionalInt;

/** Ends a request with a problem document. The message is its detail: what is wrong with this request, and the fix. */
public final class ProblemException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    private final int status;
    private final String word;
    private final int retryAfterSeconds;

    /**
     * Creates it.
     *
     * @param status 400..599
     * @param word the kind of problem in lower case with hyphens, such as {@code stale-incarnation}; programs rely on
     *     it
     * @param detail one line for people
     */
    public ProblemException(int status, String word, String detail) {
        this(status, word, detail, 0);
    }

    private ProblemException(int status, String word, String detail, int retryAfterSeconds) {
        super(detail);
        this.status = status;
        this.word = word;
        this.retryAfterSeconds = retryAfterSeconds;
    }

    /** The same, with the time after which the client may try again, 1 or more (Retry-After, RFC 9110). */
    public ProblemException withRetryAfter(int seconds) {
        return new ProblemException(status, word, String.valueOf(getMessage()), seconds);
    }

    /** The HTTP status, 400..599. */
    public int status() {
        return status;
    }

    OptionalInt retryAfterSeconds() {
        return retryAfterSeconds == 0 ? OptionalInt.empty() : OptionalInt.of(retryAfterSeconds);
    }

    /** What is asked for does not exist. */
    public static ProblemException notFound(String detail) {
        return new ProblemException(404, "not-found", detail);
    }

    /** The request is not well formed. */
    public static ProblemException invalid(String detail) {
        return new ProblemException(400, "invalid", detail);
    }

    /** The request does not fit what is there. */
    public static ProblemException conflict(String word, String detail) {
        return new ProblemException(409, word, detail);
    }

    /** The document to answer with. */
    public Problem problem(String instance) {
        String words = word.replace('-', ' ');
        String title = words.substring(0, 1).toUpperCase(Locale.ROOT) + words.substring(1);
        String detail = getMessage() == null ? title : getMessage();
        return new Problem(Problem.TYPE_PREFIX + word, title, status, detail, instance);
    }
}
