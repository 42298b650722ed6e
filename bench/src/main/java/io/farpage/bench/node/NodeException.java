package io.farpage.bench.node;

/** The fetching node cannot do what it was told; the message is one line for people. */
final class NodeException extends Exception {
    private static final long serialVersionUID = 1;

    NodeException(String message) {
        super(message);
    }

    NodeException(String message, Throwable cause) {
        super(message, cause);
    }
}
