package io.farpage.bench.baseline;

/** The baseline was started but failed; the message is what it printed, or how long the benchmark waited. */
public final class BaselineException extends RuntimeException {
    private static final long serialVersionUID = 1;

    BaselineException(String message) {
        super(message);
    }

    BaselineException(String message, Throwable cause) {
        super(message, cause);
    }
}
