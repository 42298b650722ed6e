package io.farpage.bench.process;

/** The benchmark cannot go on; the message is one line for people that says what happened and where to look. */
public final class BenchException extends RuntimeException {
    private static final long serialVersionUID = 1;

    public BenchException(String message) {
        super(message);
    }

    public BenchException(String message, Throwable cause) {
        super(message, cause);
    }
}
