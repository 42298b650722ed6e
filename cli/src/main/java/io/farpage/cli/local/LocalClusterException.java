package io.farpage.cli.local;

/** What kept a local cluster from being started or ended, with what to do; one line. */
final class LocalClusterException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    LocalClusterException(String message) {
        super(message);
    }

    LocalClusterException(String message, Throwable cause) {
        super(message, cause);
    }
}
