package io.farpage.rest;

/** A service could not listen where it was told to; the message names the address or path and the fix. */
public final class ListenException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    /**
     * Makes one.
     *
     * @param place the address or path
     */
    public ListenException(String place, String reason, Throwable cause) {
        super("cannot listen on " + place + ": " + reason, cause);
    }
}
