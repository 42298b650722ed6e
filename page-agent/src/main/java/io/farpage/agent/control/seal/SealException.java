package io.farpage.agent.control.seal;

/** An encrypted space cannot be used: the message names what is missing or wrong, and what to do. */
public final class SealException extends Exception {
    private static final long serialVersionUID = 1L;

    SealException(String message) {
        super(message);
    }

    SealException(String message, Throwable cause) {
        super(message, cause);
    }
}
