package io.farpage.tls;

/** Certificates or keys cannot be used; the message names the file and the fix. */
public final class TlsException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    /** Creates it. */
    public TlsException(String message) {
        super(message);
    }

    /** Creates it with its cause. */
    public TlsException(String message, Throwable cause) {
        super(message, cause);
    }
}
