package io.farpage.rest;

import io.farpage.config.HostPort;

/** A service could not listen where it was told to; the message names the address, the port and the fix. */
public final class ListenException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    ListenException(HostPort listen, String reason, Throwable cause) {
        super("cannot listen on " + listen + ": " + reason, cause);
    }
}
