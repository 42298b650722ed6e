package io.farpage.linux.crypto;

/** A TLS connection could not be made or has failed. The message says what libssl reported. */
public final class TlsException extends Exception {
    private static final long serialVersionUID = 1L;

    TlsException(String message) {
        super(message);
    }
}
