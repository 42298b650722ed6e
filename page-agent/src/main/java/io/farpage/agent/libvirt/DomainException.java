package io.farpage.agent.libvirt;

/** A domain cannot be started on remote memory as it is described; the message names what to change in its XML. */
public final class DomainException extends Exception {
    private static final long serialVersionUID = 1L;

    DomainException(String message) {
        super(message);
    }

    DomainException(String message, Throwable cause) {
        super(message, cause);
    }
}
