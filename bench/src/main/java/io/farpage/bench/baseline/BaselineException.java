package io.farpage.bench.baseline;

/** The baseline was there but did not do what it was asked; the message is what it said, or how long it was waited for. */
public final class BaselineException extends RuntimeException {
    private static final long serialVersionUID = 1;

    BaselineException(String message) {
        super(message);
    }

    BaselineException(String message, Throwable cause) {
        super(message, cause);
    }
}
