package io.farpage.agent.control.guest;

/** A guest cannot be kept, or what was kept of it cannot be used. */
final class KeptGuestException extends Exception {
    private static final long serialVersionUID = 1L;

    KeptGuestException(String message) {
        super(message);
    }
}
