package io.farpage.agent.control.grant;

/**
 * A grant that cannot be used: it belongs to another use, was altered, or comes from a node that cannot prove its
 * identity.
 */
public final class GrantException extends Exception {
    private static final long serialVersionUID = 1L;

    GrantException(String message) {
        super(message);
    }
}
