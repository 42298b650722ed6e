package io.farpage.agent.control.grant;

/**
 * A grant that cannot be used: it is about something else, was altered, or is of a node that cannot prove who it is.
 */
public final class GrantException extends Exception {
    private static final long serialVersionUID = 1L;

    GrantException(String message) {
        super(message);
    }
}
