package io.farpage.coordinator.store;

/** The store cannot be opened, read or written; the message names the file and the fix. */
public final class StoreException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    /** Creates it. */
    public StoreException(String message, Throwable cause) {
        super(message, cause);
    }

    /** Creates it. */
    public StoreException(String message) {
        super(message);
    }
}
